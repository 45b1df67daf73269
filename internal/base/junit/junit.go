// Package junit reads the results of tests from JUnit's XML.
package junit

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"

	"golang.org/x/net/html/charset"
)

// Status is how a test ended.
type Status string

// How tests end.
const (
	Success Status = "success"
	Failed  Status = "failed"  // an assertion did not hold
	Errored Status = "error"   // the test itself broke
	Skipped Status = "skipped" // it did not run
)

// Case is one test.
type Case struct {
	Status     Status
	Name       string
	Class      string
	File       string  // "" where the report names none
	Seconds    float64 // how long it ran
	Output     string  // what it said when it did not succeed; "" where it said nothing
	Attachment string  // path of a file among the artifacts that the test names, "" for none
}

// Limits bound what a report may hold.
type Limits struct {
	Bytes int64 // of XML
	Cases int
}

// ErrTooLarge is a report beyond its limits.
var ErrTooLarge = errors.New("the report is too large")

// element is a testcase as it is in the report.
type element struct {
	Name    string   `xml:"name,attr"`
	Class   string   `xml:"classname,attr"`
	File    string   `xml:"file,attr"`
	Time    string   `xml:"time,attr"`
	Failure []reason `xml:"failure"`
	Error   []reason `xml:"error"`
	Skipped []reason `xml:"skipped"`
	Out     []string `xml:"system-out"`
}

type reason struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

func (r reason) String() string {
	if text := strings.TrimSpace(r.Text); text != "" {
		return text
	}
	return r.Message
}

// attachment is how a test names a file that belongs to it, in what it prints.
var attachment = regexp.MustCompile(`\[\[ATTACHMENT\|([^\[\]|]+)\]\]`)

func (e *element) result() Case {
	c := Case{Status: Success, Name: e.Name, Class: e.Class, File: e.File, Seconds: seconds(e.Time)}
	for _, ending := range []struct {
		status  Status
		reasons []reason
	}{{Failed, e.Failure}, {Errored, e.Error}, {Skipped, e.Skipped}} {
		if len(ending.reasons) == 0 {
			continue
		}
		said := make([]string, len(ending.reasons))
		for i, r := range ending.reasons {
			said[i] = r.String()
		}
		c.Status, c.Output = ending.status, strings.TrimSpace(strings.Join(said, "\n\n"))
		break
	}
	for _, out := range e.Out {
		if m := attachment.FindStringSubmatch(out); m != nil {
			c.Attachment = m[1]
			break
		}
	}
	return c
}

// seconds reads a duration; some writers put commas between thousands.
func seconds(text string) float64 {
	n, err := strconv.ParseFloat(strings.ReplaceAll(strings.TrimSpace(text), ",", ""), 64)
	if err != nil || math.IsNaN(n) || math.IsInf(n, 0) || n < 0 {
		return 0
	}
	return n
}

// Read gives fn each case of the report in r, at any depth of suites. A report that cannot be understood is an
// error that says where, one beyond its limits ErrTooLarge; what fn answers ends the reading.
func Read(r io.Reader, limits Limits, fn func(Case) error) error {
	in := &bounded{from: r, left: limits.Bytes}
	d := xml.NewDecoder(in)
	d.CharsetReader = charset.NewReaderLabel
	roots, cases := 0, 0
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) && roots > 0 {
			return nil
		}
		if err != nil {
			return in.blame(err)
		}
		start, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		roots++
		if start.Name.Local != "testcase" {
			continue
		}
		var e element
		if err := d.DecodeElement(&e, &start); err != nil {
			return in.blame(err)
		}
		if cases++; cases > limits.Cases {
			return ErrTooLarge
		}
		if err := fn(e.result()); err != nil {
			return err
		}
	}
}

// bounded is a reader that fails beyond a number of bytes.
type bounded struct {
	from io.Reader
	left int64
	full bool
	err  error // of from
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		var one [1]byte
		if n, err := io.ReadFull(b.from, one[:]); n == 0 {
			return 0, b.keep(err)
		}
		b.full = true
		return 0, ErrTooLarge
	}
	n, err := b.from.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	return n, b.keep(err)
}

func (b *bounded) keep(err error) error {
	if err != nil && !errors.Is(err, io.EOF) {
		b.err = err
	}
	return err
}

// blame tells what was wrong with a report: its size, its source or its syntax.
func (b *bounded) blame(err error) error {
	switch {
	case b.full:
		return ErrTooLarge
	case b.err != nil:
		return b.err
	case errors.Is(err, io.EOF):
		return errors.New("document is empty")
	}
	var syntax *xml.SyntaxError
	if errors.As(err, &syntax) {
		return fmt.Errorf("line %d: %s", syntax.Line, syntax.Msg)
	}
	return err
}
