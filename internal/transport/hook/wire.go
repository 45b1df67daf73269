// Package hook carries git's receive hooks into the running server: the small client
// that git starts in place of a hook script, and the socket it calls back on.
package hook

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Environment variables that a push hands to its hooks.
const (
	EnvSocket = "TENON_HOOK_SOCKET" // path of the server's unix socket
	EnvToken  = "TENON_HOOK_TOKEN"  // names the push that the hook belongs to
)

// The two hooks in use.
const (
	PreReceive  = "pre-receive"
	ProcReceive = "proc-receive"
)

// Change is one reference that a push wants moved. Ids are 40 hex digits, all zeros
// for "does not exist".
type Change struct {
	Old string `json:"old"`
	New string `json:"new"`
	Ref string `json:"ref"`
}

// Call is what the client sends: one JSON document, then it waits for one Reply.
type Call struct {
	Token      string   `json:"token"`
	Hook       string   `json:"hook"`
	Changes    []Change `json:"changes"`
	Options    []string `json:"options,omitempty"`
	Objects    string   `json:"objects,omitempty"`    // the quarantine's object folder
	Alternates string   `json:"alternates,omitempty"` // and the folders it borrows from
}

// Verdict is the outcome for one reference; Reason is empty when it moved.
type Verdict struct {
	Ref    string `json:"ref"`
	Reason string `json:"reason,omitempty"`
}

// Reply is what the server answers.
type Reply struct {
	Refused  bool      `json:"refused"`            // pre-receive: the whole push
	Message  string    `json:"message,omitempty"`  // for the person who pushes, on stderr
	Verdicts []Verdict `json:"verdicts,omitempty"` // proc-receive: one for each change
}

// maxCall bounds what either side reads: ten thousand references with long names.
const maxCall = 16 << 20

func writeJSON(w io.Writer, v any) error {
	if err := json.NewEncoder(w).Encode(v); err != nil {
		return fmt.Errorf("write hook message: %w", err)
	}
	return nil
}

func readJSON(r io.Reader, v any) error {
	dec := json.NewDecoder(io.LimitReader(r, maxCall))
	if err := dec.Decode(v); err != nil {
		if errors.Is(err, io.EOF) {
			return io.ErrUnexpectedEOF
		}
		return fmt.Errorf("read hook message: %w", err)
	}
	return nil
}
