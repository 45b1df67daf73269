package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"time"

	"tenon/internal/base/config"
	"tenon/internal/core"
	"tenon/internal/transport/admin"
	"tenon/internal/transport/rest"
	"tenon/internal/transport/rest/api"
)

// The commands of "tenon admin".
const (
	AdminUserCreate   = "user create"
	AdminUserPassword = "user password"
	AdminUserPromote  = "user promote"
	AdminUserDemote   = "user demote"
	AdminUserUnlock   = "user unlock"
	AdminUserBlock    = "user block"
	AdminUserUnblock  = "user unblock"
	AdminUserDelete   = "user delete"
	AdminUserList     = "user list"
	AdminTokenCreate  = "token create"
	AdminTokenList    = "token list"
	AdminTokenRevoke  = "token revoke"
	AdminSettingList  = "settings list"
	AdminSettingSet   = "settings set"
	AdminFeatureList  = "features list"
	AdminFeatureSet   = "features set"
	AdminMailTest     = "mail test"
	AdminKeyRotate    = "key rotate"
	AdminCheck        = "check"
	AdminRepoCheck    = "repo check"
	AdminDoctor       = "doctor"
	AdminAuditExport  = "audit export"
	AdminAuditVerify  = "audit verify"
)

// Administer has a command carried out, by the server that runs on the data of c or, where
// none does, right here. result is decoded into; tell gets lines of progress.
func Administer(ctx context.Context, c *config.Config, log *slog.Logger, build Build, o Order) (err error) {
	if o.Out == nil {
		o.Out = io.Discard
	}
	err = admin.Stream(ctx, filepath.Join(c.Data, "run"), admin.Command{Name: o.Command, Args: o.Args, Result: o.Result, Out: o.Out, Tell: o.Tell})
	if !errors.Is(err, admin.ErrNotRunning) {
		return err
	}
	a := &App{config: c, build: build, log: log, now: time.Now}
	defer func() { err = a.startError(errors.Join(err, a.Close(context.WithoutCancel(ctx)))) }()
	if err := a.alone(ctx); err != nil {
		return err
	}
	args, err := json.Marshal(o.Args)
	if err != nil {
		return fmt.Errorf("encode command: %w", err)
	}
	var out any
	if stream, ok := a.adminStreams()[o.Command]; ok {
		out, err = stream(ctx, args, o.Out, o.Tell)
	} else {
		out, err = a.adminCommands()[o.Command](ctx, args, o.Tell)
	}
	if err != nil {
		return err
	}
	text, err := json.Marshal(out)
	if err != nil {
		return fmt.Errorf("encode result: %w", err)
	}
	return json.Unmarshal(text, o.Result)
}

// Order is a command with what it needs and where its result goes.
type Order struct {
	Command string
	Args    any
	Result  any       // a pointer
	Out     io.Writer // of the bytes that some commands give; nil discards
	Tell    func(line string)
}

// alone opens the data without serving anybody, and keeps servers from starting meanwhile.
func (a *App) alone(ctx context.Context) error {
	if err := a.inhabited(ctx); err != nil {
		return err
	}
	return a.unserved(ctx)
}

// unserved opens the data, where there is none yet as well, without serving it.
func (a *App) unserved(ctx context.Context) error {
	a.addressed()
	if err := a.claim(ctx); err != nil {
		return err
	}
	if err := a.open(ctx); err != nil {
		return err
	}
	if err := a.services(ctx); err != nil {
		return err
	}
	return a.firstStart(ctx)
}

// addressed sets the base URL where nothing is served.
func (a *App) addressed() {
	a.baseURL = "http://" + a.config.HTTP
	if a.config.ExternalURL != nil {
		a.baseURL = a.config.ExternalURL.String()
	}
}

// adminCommands says what each command does. A user who may reach the data or the socket is
// the operator: no permission is asked for.
func (a *App) adminCommands() map[string]admin.Handler {
	return map[string]admin.Handler{
		AdminUserCreate:   handle(a, a.adminUserCreate),
		AdminUserPassword: handle(a, a.adminUserPassword),
		AdminUserPromote: handle(a, func(ctx context.Context, in UserRef, _ func(string)) (AdminUser, error) {
			return a.setAdmin(ctx, in, true)
		}),
		AdminUserDemote: handle(a, func(ctx context.Context, in UserRef, _ func(string)) (AdminUser, error) {
			return a.setAdmin(ctx, in, false)
		}),
		AdminUserUnlock:  handle(a, a.adminUserUnlock),
		AdminUserBlock:   handle(a, a.adminUserBlock),
		AdminUserUnblock: handle(a, a.adminUserUnblock),
		AdminUserDelete:  handle(a, a.adminUserDelete),
		AdminUserLink:    handle(a, a.adminUserLink),
		AdminUserList:    handle(a, a.adminUserList),
		AdminTokenCreate: handle(a, a.adminTokenCreate),
		AdminTokenList:   handle(a, a.adminTokenList),
		AdminTokenRevoke: handle(a, a.adminTokenRevoke),
		AdminSettingList: handle(a, a.adminSettingList),
		AdminSettingSet:  handle(a, a.adminSettingSet),
		AdminFeatureList: handle(a, a.adminFeatureList),
		AdminFeatureSet:  handle(a, a.adminFeatureSet),
		AdminImportRetry: handle(a, a.adminImportRetry),
		AdminDebianKey:   handle(a, a.adminDebianKey),
		AdminMailTest:    handle(a, a.adminMailTest),
		AdminKeyRotate:   handle(a, a.adminKeyRotate),
		AdminCheck:       handle(a, a.adminCheck),
		AdminRepoCheck:   handle(a, a.adminRepoCheck),
		AdminDoctor:      handle(a, a.adminDoctor),
		AdminAuditVerify: handle(a, a.adminAuditVerify),
	}
}

// handle decodes the arguments of a command, and says where it works before it does.
func handle[A, R any](a *App, fn func(ctx context.Context, args A, tell func(string)) (R, error)) admin.Handler {
	return func(ctx context.Context, text json.RawMessage, tell func(string)) (any, error) {
		var args A
		if err := json.Unmarshal(text, &args); err != nil {
			return nil, fmt.Errorf("read arguments: %w", err)
		}
		tell("on " + a.Target())
		return fn(ctx, args, tell)
	}
}

// Target says what commands work on: the running server, its folder and its database.
func (a *App) Target() string {
	who := "no running server"
	if a.serving.Load() {
		who = fmt.Sprintf("the running server (process %d, %s)", a.self.PID, a.listener.Addr())
	}
	return fmt.Sprintf("%s, data folder %s, %s", who, a.config.Data, a.db.Place())
}

// OpenAPI returns the description of the REST interface, which comes from the routes alone.
func OpenAPI(version string) ([]byte, error) {
	server := &rest.Server{Services: core.Described()}
	document := api.New(api.Config{Title: "Tenon", Version: rest.Level}, server.Routes()).Document()
	switch version {
	case "3.1":
		return document, nil
	case "3.0":
		return api.OpenAPI30(document)
	}
	return nil, fmt.Errorf("there is no document of OpenAPI %q: choose 3.0 or 3.1", version)
}
