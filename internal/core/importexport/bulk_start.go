package importexport

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/safehttp"
	"tenon/internal/core/account"
	"tenon/internal/core/authz"
	"tenon/internal/core/limit"
	"tenon/internal/core/namespace"
)

// BulkInput says where a transfer comes from, and what it moves.
type BulkInput struct {
	URL      string // of the source
	Token    string // for it
	Entities []EntityInput
}

// EntityInput is a group that moves.
type EntityInput struct {
	SourcePath  string
	Slug        string
	Destination string // full path of a group, "" for the top level
	NoProjects  bool   // projects stay
	NoMembers   bool   // memberships stay
}

// MaxEntities bounds the groups that one call names.
const MaxEntities = 100

// CodeEntity is an entity of a transfer that is not described as it must be; the message says how.
const CodeEntity errs.Code = "invalid entity"

// tokenSecret is the place that the token of a source is sealed for.
func tokenSecret(user authz.UserID, address string) string {
	return fmt.Sprintf("bulk_imports.token:%d:%s", user, address)
}

const wrongURL = "Invalid source URL. Enter only the base URL of the source GitLab instance."

// StartBulk begins a transfer, once the source has answered for each group that it may be moved. It requires TransferDirectly and what
// making each group does. Where something is wrong nothing is begun.
func (s *Service) StartBulk(ctx context.Context, as authz.Actor, in BulkInput) (*Bulk, error) {
	if err := s.mayTransfer(ctx, as); err != nil {
		return nil, err
	}
	if err := s.Limits.Check(limit.BulkImport, as); err != nil {
		return nil, err
	}
	u, err := url.Parse(in.URL)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, errs.New(errs.Unprocessable, wrongURL)
	}
	address := strings.TrimSuffix(in.URL, "/")
	if _, err := s.Outbound.CheckURL(address); err != nil {
		if _, blocked := errors.AsType[*safehttp.BlockedError](err); blocked {
			return nil, errs.New(errs.Unprocessable, wrongURL)
		}
		return nil, fmt.Errorf("check address of source: %w", err)
	}
	places := map[string]bool{}
	for _, e := range in.Entities {
		if err := s.checkDestination(ctx, as, address, e); err != nil {
			return nil, err
		}
		full := (&Entity{Destination: e.Destination, Slug: e.Slug}).FullPath()
		if places[db.Fold(full)] {
			return nil, destinationTaken(full)
		}
		places[db.Fold(full)] = true
	}
	from := &sourceServer{s: s, url: address, token: in.Token}
	version, err := from.check(ctx)
	if err != nil {
		return nil, err
	}
	now := db.At(s.Now())
	rows := make([]Entity, len(in.Entities))
	for i, e := range in.Entities {
		found, err := s.checkSource(ctx, from, e)
		if err != nil {
			return nil, err
		}
		rows[i] = Entity{
			Kind: groupEntity, SourcePath: e.SourcePath, SourceID: new(found.number()), Slug: e.Slug, Destination: e.Destination, Status: BulkCreated,
			Visibility: visibilityNumber(found.Visibility), NoProjects: e.NoProjects, NoMembers: e.NoMembers, CreatedAt: now, UpdatedAt: now,
		}
	}
	bulk := Bulk{
		UserID: as.UserID, URL: address, Version: cut(version, maxSourceVersion), Token: s.Box.Seal(tokenSecret(as.UserID, address), in.Token), Status: BulkCreated,
		CreatedAt: now, UpdatedAt: now,
	}
	err = s.DB.InTx(ctx, func(ctx context.Context) error {
		if err := db.Create(ctx, s.DB, "bulk_imports", &bulk); err != nil {
			return fmt.Errorf("begin transfer: %w", err)
		}
		return s.addEntities(ctx, bulk.ID, rows)
	})
	if err != nil {
		return nil, err
	}
	return &bulk, nil
}

const maxSourceVersion = 64 // characters

func cut(text string, most int) string { return text[:min(len(text), most)] }

// addEntities adds entities to a transfer with a job for each, in the caller's transaction.
func (s *Service) addEntities(ctx context.Context, of BulkID, rows []Entity) error {
	for i := range rows {
		rows[i].BulkID = of
	}
	ids, err := db.InsertAll(ctx, s.DB, "bulk_import_entities", rows)
	if err != nil {
		return fmt.Errorf("add entities: %w", err)
	}
	for _, id := range ids {
		if err := s.Jobs.Enqueue(ctx, RunEntity{ID: EntityID(id)}); err != nil {
			return err
		}
	}
	return nil
}

// visibilityNumber is the level of a word; what is unknown is private.
func visibilityNumber(word string) int64 {
	v, ok := authz.ParseVisibility(word)
	if !ok {
		return int64(authz.Private)
	}
	return int64(v)
}

// checkDestination refuses a place where the actor may make no group, or that is taken.
func (s *Service) checkDestination(ctx context.Context, as authz.Actor, source string, e EntityInput) error {
	parent, err := s.destination(ctx, as, e.Destination)
	if err == nil {
		err = s.Namespaces.MayCreate(ctx, as, parent)
	}
	if errs.Is(err, errs.NotFound) || errs.Is(err, errs.Forbidden) {
		return errs.New(errs.Unprocessable, fmt.Sprintf("Import failed. '%s' is invalid, or you do not have permission.", e.Destination))
	}
	if err != nil {
		return err
	}
	if !account.ValidPath(e.Slug) {
		return errs.New(errs.Unprocessable, "Import failed. The destination URL can only include non-accented letters, digits, '_', '-' and '.'. "+
			"It must not start with '-', '_', or '.', nor end with '-', '_', '.', '.git', or '.atom'.")
	}
	full := (&Entity{Destination: e.Destination, Slug: e.Slug}).FullPath()
	taken, err := db.Get[bool](ctx, s.DB, "SELECT EXISTS (SELECT 1 FROM routes WHERE path_fold = ?)", db.Fold(full))
	if err != nil {
		return fmt.Errorf("check destination: %w", err)
	}
	if taken {
		return destinationTaken(full)
	}
	if source == s.URLs.Root() && strings.HasPrefix(db.Fold(e.Destination)+"/", db.Fold(e.SourcePath)+"/") {
		return errs.New(errs.Unprocessable, "Import failed: Destination cannot be a subgroup of the source group. Change the destination and try again.")
	}
	return nil
}

// destinationTaken refuses a destination that is there, or that another entity of the transfer has.
func destinationTaken(full string) error {
	return errs.New(errs.Unprocessable, fmt.Sprintf("Import failed. '%s' already exists. Change the destination and try again.", full))
}

// destination is the group that an entity goes into, nil for the top level.
func (s *Service) destination(ctx context.Context, as authz.Actor, path string) (*namespace.ID, error) {
	if path == "" {
		return nil, nil
	}
	g, err := s.Namespaces.Find(ctx, as, path)
	if err != nil {
		return nil, err
	}
	return &g.ID, nil
}

// checkSource finds a group at the source, and refuses one that may not be moved.
func (s *Service) checkSource(ctx context.Context, from *sourceServer, e EntityInput) (*sourceGroup, error) {
	found, err := from.find(ctx, groupEntity, e.SourcePath)
	if err != nil || found == nil || found.number() == 0 {
		return nil, errs.New(errs.Unprocessable, fmt.Sprintf("Import failed. '%s' not found.", e.SourcePath))
	}
	_, err = from.get(ctx, from.at(&Entity{Kind: groupEntity, SourceID: new(found.number())})+"/export_relations/status", nil)
	refused, _ := errors.AsType[*statusError](err)
	switch {
	case err == nil:
		return found, nil
	case refused != nil && refused.status == 404:
		return nil, errs.New(errs.Unprocessable, "Migration by direct transfer is disabled on the source or destination instance. "+
			"Ask an administrator to enable this feature on both instances and try again.")
	case refused != nil && refused.status == 403:
		return nil, errs.New(errs.Unprocessable, fmt.Sprintf("Import failed. You do not have permission to export '%s'.", e.SourcePath))
	}
	return nil, errs.New(errs.Unprocessable, "Check that the source instance base URL and the personal access token meet the necessary requirements.")
}
