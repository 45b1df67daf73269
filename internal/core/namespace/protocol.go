package namespace

import (
	"context"

	"tenon/internal/core/authz"
)

// Protocol is how git clients reach the server.
type Protocol string

// The protocols, in the words of the settings.
const (
	HTTP Protocol = "http"
	SSH  Protocol = "ssh"
)

// Closed reports whether the instance, or a group that the namespace is in, serves git over another protocol alone. The
// namespace 0 asks for the instance. Jobs that run fetch over HTTP in any case: runners know no other way. It asks for no permission.
func (s *Service) Closed(ctx context.Context, as authz.Actor, id ID, over Protocol) (bool, error) {
	if as.Job.ID != 0 && over == HTTP {
		return false, nil
	}
	if only := s.Settings.Current().EnabledGitAccessProtocol; only != "" && only != string(over) {
		return true, nil
	}
	if id == 0 {
		return false, nil
	}
	above, err := s.SettingsAbove(ctx, id, "enabled_git_access_protocol")
	if err != nil {
		return false, err
	}
	for _, set := range above {
		if only := set.EnabledGitAccessProtocol; only != nil && (*only == string(HTTP) || *only == string(SSH)) && *only != string(over) {
			return true, nil
		}
	}
	return false, nil
}
