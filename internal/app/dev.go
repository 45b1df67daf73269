package app

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"path/filepath"
	"time"

	"tenon/internal/base/config"
	"tenon/internal/base/scratch"
	"tenon/internal/base/secret"
)

// DevInput says what a server for tests begins with.
type DevInput struct {
	Seed  []byte // TOML, see seed; nil seeds nothing
	Build Build
}

// DevUser is a user of a server for tests.
type DevUser struct {
	Username string `json:"username"`
	Token    string `json:"token"`
	Password string `json:"password"`
}

// DevServer says where a server for tests is.
type DevServer struct {
	URL      string    `json:"url"`
	SSH      string    `json:"ssh"`      // ssh://git@host:port
	Token    string    `json:"token"`    // of root, with every scope
	Password string    `json:"password"` // of root
	Data     string    `json:"data"`     // its data folder
	Users    []DevUser `json:"users"`    // those of the seed, in its order
}

const (
	devPrefix = "tenon-dev-"
	devGrace  = 2 * time.Second // for requests and jobs: what they do is gone in the end
)

// Dev runs a server for tests until ctx ends: on SQLite in a temporary folder, on free
// ports of the loopback interface, without rate limits, with cheap hashes of passwords,
// and without waiting for the disk. Of the environment and of configuration files it
// takes nothing, so that it can never work on data that is there. ready is told once
// requests are answered; an error of it ends the server. The folder is gone when Dev
// returns, and so are those of servers before it that were killed.
func Dev(ctx context.Context, in DevInput, log *slog.Logger, ready func(s DevServer) error) (err error) {
	seed, err := readSeed(in.Seed)
	if err != nil {
		return err
	}
	dir, err := scratch.Make("", devPrefix)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dir.Remove()) }()

	s := DevServer{Token: seed.Token, Password: seed.Password, Data: filepath.Join(dir.Path, "data"), Users: []DevUser{}}
	if s.Token == "" {
		s.Token = secret.NewToken(secret.AccessTokenPrefix)
	}
	if s.Password == "" {
		s.Password = rand.Text()
	}
	c, err := config.Load(config.Sources{
		Environ: []string{"TENON_ROOT_TOKEN=" + s.Token, "TENON_ROOT_PASSWORD=" + s.Password},
		Flags:   map[string]string{"data": s.Data, "http": "127.0.0.1:0", "ssh": "127.0.0.1:0", "rate-limits": "off"},
	})
	if err != nil {
		return err
	}
	a := &App{config: c, build: in.Build, log: log, now: time.Now, brief: true}
	defer func() { err = errors.Join(err, a.Close(context.WithoutCancel(ctx))) }()
	if err := a.assemble(ctx); err != nil {
		return err
	}
	if s.Users, err = a.seed(ctx, seed); err != nil {
		return err
	}
	s.SSH = "ssh://git@" + a.SSHAddress()

	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var unready error
	swept := make(chan struct{})
	err = a.Run(ctx, func(url string) {
		s.URL = url
		if unready = ready(s); unready != nil {
			cancel()
		}
		go func() { // goes on for a moment although ctx ends: short runs sweep too
			defer close(swept)
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), devGrace)
			defer cancel()
			scratch.Sweep(ctx, "", devPrefix)
		}()
	})
	if s.URL != "" {
		<-swept
	}
	return errors.Join(err, unready)
}
