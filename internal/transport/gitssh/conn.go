package gitssh

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"runtime/debug"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/crypto/ssh"

	"tenon/internal/base/errs"
	"tenon/internal/core/sshkey"
)

// maxSessions is how many commands one connection may run at a time.
const maxSessions = 10

// keyExtension is where the connection's permissions hold the number of the key.
const keyExtension = "tenon-key"

// recognize answers whether a key may sign on. A client may ask about any key, also about
// one it does not hold; so the number of the key goes into the permissions of this very
// key, and only those of the key that proved itself are ever looked at.
func (s *Server) recognize(meta ssh.ConnMetadata, key ssh.PublicKey) (*ssh.Permissions, error) {
	if meta.User() != "git" {
		return nil, errors.New("the user of git over SSH is git")
	}
	ctx, cancel := context.WithTimeout(context.Background(), s.SignOnTime)
	defer cancel()
	id, err := s.Keys.Recognize(ctx, key)
	if err != nil {
		if !errs.Is(err, errs.Unauthorized) {
			s.Log.Error("look for SSH key", "error", err)
		}
		if errors.Is(err, errs.ErrAway) { // without the banner the client takes its key for a wrong one
			return nil, &ssh.BannerError{Err: errs.ErrAway, Message: textAway + "\n"}
		}
		return nil, errors.New("unknown key")
	}
	return &ssh.Permissions{Extensions: map[string]string{keyExtension: strconv.FormatInt(int64(id), 10)}}, nil
}

// conn is one connection.
type conn struct {
	server *Server
	net    net.Conn
	from   netip.Prefix

	signedOn atomic.Bool
	commands atomic.Int64 // that run now
	parting  atomic.Bool  // the server stops
	touched  atomic.Int64 // when the deadline was last moved, in seconds

	key sshkey.ID // that proved itself
}

// serve speaks with the client until one of the two hangs up.
func (c *conn) serve(ctx context.Context) {
	defer func() { _ = c.net.Close() }()
	if err := c.net.SetDeadline(time.Now().Add(c.server.SignOnTime)); err != nil {
		return
	}
	sc, channels, requests, err := ssh.NewServerConn(watched{c.net, c}, c.server.config.Load())
	if err != nil {
		c.server.Log.Debug("SSH sign-on failed", "from", c.net.RemoteAddr().String(), "error", err)
		return
	}
	id, err := strconv.ParseInt(sc.Permissions.Extensions[keyExtension], 10, 64)
	if err != nil {
		c.server.Log.Error("SSH connection without a key", "error", err)
		return
	}
	c.key = sshkey.ID(id)
	c.signedOn.Store(true)
	c.touch()
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() { ssh.DiscardRequests(requests) }) // ends with the connection, as do all below
	var open atomic.Int64
	for offered := range channels {
		switch {
		case offered.ChannelType() != "session":
			_ = offered.Reject(ssh.UnknownChannelType, "only git is served here")
		case open.Load() >= maxSessions:
			_ = offered.Reject(ssh.ResourceShortage, "too many sessions")
		default:
			open.Add(1)
			wg.Go(func() {
				defer open.Add(-1)
				c.session(ctx, offered)
			})
		}
	}
	cancel() // the client is gone, so that what runs for it ends
	wg.Wait()
}

// touch moves the deadline: the connection is in use.
func (c *conn) touch() {
	now := time.Now()
	if c.touched.Swap(now.Unix()) == now.Unix() && !c.parting.Load() {
		return // once a second is enough
	}
	limit := c.server.RestingTime
	switch {
	case c.commands.Load() > 0:
		limit = workingTime
	case c.parting.Load():
		limit = partingTime
	}
	_ = c.net.SetDeadline(now.Add(limit)) // a connection that is closed has none
}

// begin counts a command in, and out when the result is called.
func (c *conn) begin() (end func()) {
	c.commands.Add(1)
	c.touched.Store(0)
	c.touch()
	return func() {
		c.commands.Add(-1)
		c.touched.Store(0)
		c.touch()
	}
}

// part returns the client little time to hang up, once nothing runs for it any more.
func (c *conn) part() {
	c.parting.Store(true)
	if !c.signedOn.Load() {
		_ = c.net.Close()
		return
	}
	c.touch()
}

// watched moves the deadline with every byte in either direction.
type watched struct {
	net.Conn
	c *conn
}

// Read notes that the client said something.
func (w watched) Read(p []byte) (int, error) {
	n, err := w.Conn.Read(p)
	if n > 0 && w.c.signedOn.Load() && !w.c.parting.Load() {
		w.c.touch()
	}
	return n, err
}

// Write notes that the client takes what it is sent.
func (w watched) Write(p []byte) (int, error) {
	n, err := w.Conn.Write(p)
	if n > 0 && w.c.signedOn.Load() && !w.c.parting.Load() {
		w.c.touch()
	}
	return n, err
}

// session serves one channel: at most one variable, one command, and its status.
func (c *conn) session(ctx context.Context, offered ssh.NewChannel) {
	channel, requests, err := offered.Accept()
	if err != nil {
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan int, 1)
	running, protocol := false, ""
	defer func() {
		cancel()
		_ = channel.Close()
		if running {
			<-done
		}
		ssh.DiscardRequests(requests) // ends when the client closes its side, or with the connection
	}()
	for {
		select {
		case r, ok := <-requests:
			if !ok {
				return
			}
			fits := false
			switch r.Type {
			case "env":
				protocol, fits = variable(r.Payload, protocol)
			case "exec", "shell":
				var command struct{ Text string }
				fits = !running && !c.parting.Load() && (r.Type == "shell" || ssh.Unmarshal(r.Payload, &command) == nil)
				if fits {
					running = true
					go func() { done <- c.command(ctx, channel, command.Text, protocol) }() // waited for above
				}
			}
			if r.WantReply {
				_ = r.Reply(fits, nil) // a client that is gone closes requests
			}
		case status := <-done:
			running = false
			_, _ = channel.SendRequest("exit-status", false, ssh.Marshal(struct{ Status uint32 }{uint32(status)}))
			return
		}
	}
}

// variable reads the one variable of the environment that matters.
func variable(payload []byte, before string) (protocol string, fits bool) {
	var env struct{ Name, Value string }
	if ssh.Unmarshal(payload, &env) != nil || env.Name != "GIT_PROTOCOL" {
		return before, false
	}
	return env.Value, true // gitcmd looks at what it says
}

// command runs one command to its end and returns its status.
func (c *conn) command(ctx context.Context, channel ssh.Channel, text, protocol string) (status int) {
	defer c.begin()()
	if c.server.Busy != nil {
		defer c.server.Busy()()
	}
	x := &exchange{Server: c.server, channel: channel, protocol: protocol, key: c.key, from: c.net.RemoteAddr()}
	defer func() {
		if caught := recover(); caught != nil {
			c.server.Log.Error("panic in SSH command", "error", fmt.Sprint(caught), "stack", string(debug.Stack()))
			status = 1
		}
	}()
	return x.run(ctx, text)
}
