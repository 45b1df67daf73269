package junit_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"tenon/internal/base/junit"
)

var plenty = junit.Limits{Bytes: 1 << 20, Cases: 100}

func read(text string, limits junit.Limits) ([]junit.Case, error) {
	var out []junit.Case
	err := junit.Read(strings.NewReader(text), limits, func(c junit.Case) error {
		out = append(out, c)
		return nil
	})
	return out, err
}

func TestRead(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		text string
		want []junit.Case
	}{
		"one of each": {`<?xml version="1.0"?><testsuites><testsuite name="s">
			<testcase name="adds" classname="sum" file="sum_test.rb" time="0.25"/>
			<testcase name="subtracts" classname="sum" time="1,001.5"><failure message="short" type="X">
				expected 3
			</failure></testcase>
			<testcase name="divides" time="x"><error message="by zero"/></testcase>
			<testcase name="later" time="-1"><skipped/></testcase>
		</testsuite></testsuites>`, []junit.Case{
			{Status: junit.Success, Name: "adds", Class: "sum", File: "sum_test.rb", Seconds: 0.25},
			{Status: junit.Failed, Name: "subtracts", Class: "sum", Seconds: 1001.5, Output: "expected 3"},
			{Status: junit.Errored, Name: "divides", Output: "by zero"},
			{Status: junit.Skipped, Name: "later"},
		}},
		"suites in suites, text in CDATA": {
			`<testsuite><testsuite><testsuite><testcase name="deep"><failure><![CDATA[a < b]]></failure><failure message="and c"/></testcase></testsuite></testsuite></testsuite>`,
			[]junit.Case{{Status: junit.Failed, Name: "deep", Output: "a < b\n\nand c"}},
		},
		"an attachment": {
			`<testsuite><testcase name="a"><system-out>see [[ATTACHMENT|shots/a.png]]</system-out></testcase></testsuite>`,
			[]junit.Case{{Status: junit.Success, Name: "a", Attachment: "shots/a.png"}},
		},
		"another encoding": {
			"<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?><testsuite><testcase name=\"gr\xfcn\"/></testsuite>",
			[]junit.Case{{Status: junit.Success, Name: "grün"}},
		},
		"no tests": {`<testsuites/>`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := read(row.text, plenty)
			if err != nil || !reflect.DeepEqual(got, row.want) {
				t.Errorf("got %+v, %v; want %+v", got, err, row.want)
			}
		})
	}
}

func TestRead_refused(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct{ text, want string }{
		"empty":                {"", "document is empty"},
		"cut off":              {"<testsuite>\n<testcase", "line 2: unexpected EOF"},
		"not XML":              {"all good", "document is empty"},
		"entity of a document": {`<!DOCTYPE x [<!ENTITY a "aa">]><testsuite><testcase name="&a;"/></testsuite>`, "line 1: invalid character entity &a;"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := read(row.text, plenty); err == nil || err.Error() != row.want {
				t.Errorf("got %v, want %s", err, row.want)
			}
		})
	}
}

func TestRead_bounds(t *testing.T) {
	t.Parallel()
	text := "<testsuite>" + strings.Repeat("<testcase/>", 101) + "</testsuite>"
	if got, err := read(text, plenty); !errors.Is(err, junit.ErrTooLarge) || len(got) != 100 {
		t.Errorf("101 of 100 cases: %d, %v", len(got), err)
	}
	if _, err := read(text, junit.Limits{Bytes: int64(len(text)) - 1, Cases: 1000}); !errors.Is(err, junit.ErrTooLarge) {
		t.Errorf("a byte too many: %v", err)
	}
	if got, err := read(text, junit.Limits{Bytes: int64(len(text)), Cases: 101}); err != nil || len(got) != 101 {
		t.Errorf("at the limit: %d, %v", len(got), err)
	}
}

func FuzzRead(f *testing.F) {
	f.Add(`<testsuites><testsuite name="s"><testcase name="a" time="1"><failure>x</failure></testcase></testsuite></testsuites>`)
	f.Fuzz(func(t *testing.T, text string) {
		got, err := read(text, plenty)
		for _, c := range got {
			if c.Status == "" || c.Seconds < 0 {
				t.Errorf("%+v, %v", c, err)
			}
		}
	})
}
