package gitssh

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"time"
	"unicode"

	"golang.org/x/crypto/ssh"

	"tenon/internal/base/errs"
	"tenon/internal/base/gitcmd"
	"tenon/internal/core/authz"
	"tenon/internal/core/lfs"
	"tenon/internal/core/limit"
	"tenon/internal/core/namespace"
	"tenon/internal/core/project"
	"tenon/internal/core/repo"
	"tenon/internal/core/sshkey"
)

// The commands that git runs on the other side.
const (
	uploadPack    = "git-upload-pack"
	receivePack   = "git-receive-pack"
	uploadArchive = "git-upload-archive"

	lfsAuthenticate = "git-lfs-authenticate"
)

// Statuses of commands that git did not run.
const (
	failed  = 1
	unknown = 128
)

const textNoRead = "You are not allowed to download code from this project."

const textAway = "The server's database is not available. Please try again in a moment."

const textTooMany = "This operation was done too many times. Try again in a minute."

const textClosed = "Git access over SSH is not allowed"

const textHidden = "The project you were looking for could not be found or you don't have permission to view it."

// exchange is one command of a client.
type exchange struct {
	*Server
	channel  ssh.Channel
	protocol string
	key      sshkey.ID
	from     net.Addr
	project  string // full path, as asked for until it is found
}

// run does what a client asks for, as the user or the deploy key that proved itself. It
// is read again for every command: it may have been blocked since the connection began.
func (x *exchange) run(ctx context.Context, text string) int {
	as, err := x.Keys.SignOn(ctx, x.key)
	if errs.Is(err, errs.Unauthorized) {
		return x.refuse("Your SSH key is not known any more.")
	}
	if err != nil {
		return x.explain(err, "")
	}
	if host, _, err := net.SplitHostPort(x.from.String()); err == nil {
		as.Address = host
	}
	if err := x.Limits.CheckAddress(as); err != nil {
		return x.explain(err, "")
	}
	args, err := words(text)
	if err == nil && len(args) > 1 && args[0] == "git" {
		args = append([]string{"git-" + args[1]}, args[2:]...)
	}
	switch {
	case err == nil && (len(args) == 0 || len(args) == 1 && args[0] == "discover"):
		name := "Anonymous" // a deploy key is no user
		if as.SignedIn() {
			name = "@" + as.Username
		}
		_, err := fmt.Fprintf(x.channel, "Welcome to GitLab, %s!\n", name)
		if err != nil {
			return failed
		}
		return 0
	case err == nil && len(args) == 2 && (args[0] == uploadPack || args[0] == receivePack || args[0] == uploadArchive):
		return x.observed(ctx, as, args[0], args[1], func(ctx context.Context) int { return x.git(ctx, as, args[0], args[1]) })
	}
	if err == nil && len(args) > 2 && args[0] == lfsAuthenticate {
		return x.observed(ctx, as, args[0], args[1], func(ctx context.Context) int { return x.lfs(ctx, as, args[1], lfs.Operation(args[2])) })
	}
	x.refuse("Unknown command: " + clip(text))
	return unknown
}

// observed runs a command and tells the log, the metrics and the trace of it.
func (x *exchange) observed(ctx context.Context, as authz.Actor, service, path string, run func(ctx context.Context) int) int {
	counted := &countedChannel{Channel: x.channel}
	x.channel, x.project = counted, place(path)
	begun := time.Now()
	done := func(Observation) {}
	if x.Observe != nil {
		ctx, done = x.Observe(ctx, service)
	}
	status := run(ctx)
	o := Observation{Service: service, Status: status, Duration: time.Since(begun), In: counted.in.Load(), Out: counted.out.Load(), UserID: int64(as.UserID)}
	done(o)
	x.Log.Info("git over SSH", "user_id", as.UserID, "user", as.Username, "key_id", x.key, "address", as.Address, "service", service, "project", clip(x.project),
		"status", status, "bytes_in", o.In, "bytes_out", o.Out, "seconds", o.Duration.Seconds())
	return status
}

// countedChannel counts the bytes of a command.
type countedChannel struct {
	ssh.Channel
	in, out atomic.Int64
}

// Read counts what the client sends.
func (c *countedChannel) Read(p []byte) (int, error) {
	n, err := c.Channel.Read(p)
	c.in.Add(int64(n))
	return n, err
}

// Write counts what the client gets.
func (c *countedChannel) Write(p []byte) (int, error) {
	n, err := c.Channel.Write(p)
	c.out.Add(int64(n))
	return n, err
}

// git serves one of git's commands on the project at a path.
func (x *exchange) git(ctx context.Context, as authz.Actor, command, path string) int {
	if err := x.Settings.Writable(); err != nil && command == receivePack {
		return x.refuse(err.Error())
	}
	at, err := x.remote(ctx, as, path)
	if errs.Is(err, errs.NotFound) && command == receivePack {
		at, err = x.create(ctx, as, path)
	}
	if err == nil {
		err = x.limited(as, at.Namespace, command)
	}
	if err != nil {
		return x.explain(err, textHidden)
	}
	if command == receivePack {
		return x.push(ctx, as, at)
	}
	return x.fetch(ctx, as, at, command)
}

// limited counts a command of the actor on what is in a namespace, after it was found for the actor.
func (x *exchange) limited(as authz.Actor, in authz.NamespaceID, command string) error {
	return x.Limits.CheckIn(limit.ShellCommands, as, int64(in), command)
}

// remote finds the repository; that of a project that moved is found where it is, and the
// client is told.
func (x *exchange) remote(ctx context.Context, as authz.Actor, path string) (*repo.Remote, error) {
	at := place(path)
	if at == "" {
		return nil, errs.Missing("Project")
	}
	found, err := x.Remote(ctx, as, at)
	if _, was := errors.AsType[*project.Moved](err); was {
		p, err := x.find(ctx, as, path)
		if err != nil {
			return nil, err
		}
		return x.Repos.Remote(p), nil
	}
	if err == nil && found.Project != nil {
		x.project = found.Project.FullPath
	}
	return found, err
}

// find finds the project; one that moved is found where it is, and the client reads where.
func (x *exchange) find(ctx context.Context, as authz.Actor, path string) (*project.Project, error) {
	at := place(path)
	if at == "" {
		return nil, errs.Missing("Project")
	}
	p, err := x.Projects.Find(ctx, as, at)
	if err == nil {
		x.project = p.FullPath
	}
	moved, was := errors.AsType[*project.Moved](err)
	if !was {
		return p, err
	}
	if p, err = x.Projects.FindByID(ctx, as, moved.ID); err != nil {
		return nil, err
	}
	x.tell(repo.MovedNotice(at, p, x.URLs.SSHRepository(p.FullPath))...)
	return p, nil
}

// maxRequest bounds one request of a fetch, in bytes.
const maxRequest = 16 << 20

// create makes the project that a user pushes to, where they may.
func (x *exchange) create(ctx context.Context, as authz.Actor, path string) (*repo.Remote, error) {
	p, err := x.Projects.CreateByPush(ctx, as, place(path), namespace.SSH)
	if err != nil {
		return nil, err
	}
	x.tell(x.Repos.CreatedNotice(p, x.URLs.SSHRepository(p.FullPath))...)
	return x.Repos.Remote(p), nil
}

func (x *exchange) fetch(ctx context.Context, as authz.Actor, at *repo.Remote, command string) int {
	if !x.open(ctx, as, at.Namespace) {
		return failed
	}
	if command == uploadArchive || gitcmd.ProtocolVersion(x.protocol) < 2 {
		return x.ended(at.Converse(ctx, as, repo.Conversation{
			Protocol: x.protocol, Archive: command == uploadArchive, In: x.channel, Out: x.channel,
		}))
	}
	request := repo.Fetch{Protocol: x.protocol, Advertise: true}
	for {
		if err := x.answer(ctx, as, at, request); err != nil {
			return x.ended(err)
		}
		body, err := gitcmd.ReadRequest(x.channel, maxRequest)
		if err != nil || len(body) == 0 {
			return x.ended(err)
		}
		request = repo.Fetch{Protocol: x.protocol, Request: body}
	}
}

// answer sends the answer to one request of a fetch.
func (x *exchange) answer(ctx context.Context, as authz.Actor, at *repo.Remote, request repo.Fetch) error {
	if len(request.Request) > repo.MaxFetch {
		return at.FetchLong(ctx, as, request, strings.NewReader(""), x.channel)
	}
	reader, err := at.Fetch(ctx, as, request)
	if err != nil {
		return err
	}
	_, err = io.Copy(x.channel, reader)
	return errors.Join(err, reader.Close())
}

func (x *exchange) push(ctx context.Context, as authz.Actor, at *repo.Remote) int {
	push, err := at.BeginPush(ctx, as)
	if err != nil {
		return x.explain(err, textHidden)
	}
	if !x.open(ctx, as, at.Namespace) {
		return failed
	}
	return x.ended(push.Receive(ctx, repo.Receiving{Protocol: x.protocol, In: x.channel, Out: x.channel}))
}

// open asks whether git is served over SSH in a namespace, and tells the client if not.
func (x *exchange) open(ctx context.Context, as authz.Actor, in authz.NamespaceID) bool {
	closed, err := x.Namespaces.Closed(ctx, as, in, namespace.SSH)
	if err != nil {
		x.explain(err, "")
		return false
	}
	if closed {
		x.refuse(textClosed)
	}
	return !closed
}

// ended returns the status of a git process. The protocol itself has reported to the client what
// is wrong.
func (x *exchange) ended(err error) int {
	if err == nil {
		return 0
	}
	switch errs.KindOf(err) {
	case errs.Unavailable:
		return x.refuse(err.Error())
	case errs.Forbidden, errs.NotFound, errs.Unauthorized:
		return x.explain(err, textNoRead)
	}
	if errors.Is(err, errs.ErrAway) {
		return x.explain(err, "")
	}
	x.Log.Debug("git process ended early", "error", err)
	if ended, ok := errors.AsType[*gitcmd.Error](err); ok && ended.Code > 0 {
		return ended.Code
	}
	return failed
}

// explain tells the client why it is refused: what the error says where a client may read
// it, hidden where the project is, and nothing where the server is at fault.
func (x *exchange) explain(err error, otherwise string) int {
	switch text := err.Error(); {
	case errs.Is(err, errs.NotFound):
		return x.refuse(textHidden)
	case errs.Is(err, errs.TooMany):
		return x.refuse(textTooMany)
	case errs.Is(err, errs.Forbidden) && text != errs.Forbidden.String():
		return x.refuse(text)
	case errs.Is(err, errs.Forbidden) && otherwise != "":
		return x.refuse(otherwise)
	case errs.Is(err, errs.Forbidden) || errs.Is(err, errs.Unauthorized):
		return x.refuse("You are not allowed to do this.")
	}
	if !errors.Is(err, context.Canceled) { // the client went away
		x.Log.Error("git over SSH failed", "error", err)
	}
	if errors.Is(err, errs.ErrAway) {
		return x.refuse(textAway)
	}
	return x.refuse("Internal server error")
}

// refuse tells the client why nothing is done, in the frame of facts that people know.
func (x *exchange) refuse(text string) int {
	line := strings.Repeat("=", 72)
	lines := strings.Split("ERROR: "+text, "\n")
	_, _ = io.WriteString(x.channel.Stderr(), "\n") // a client that is gone reads nothing
	x.tell(append(append([]string{line, ""}, lines...), "", line)...)
	_, _ = io.WriteString(x.channel.Stderr(), "\n")
	return failed
}

// tell shows lines to the user of the client.
func (x *exchange) tell(lines ...string) {
	var b strings.Builder
	for _, line := range lines {
		b.WriteString("remote: " + line + "\n")
	}
	_, _ = io.WriteString(x.channel.Stderr(), b.String()) // as above
}

// clip makes what a client sent fit to be shown or logged.
func clip(text string) string {
	const most = 200
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == unicode.ReplacementChar {
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, ""))
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + "..."
	}
	return text
}
