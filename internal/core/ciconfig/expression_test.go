package ciconfig_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"tenon/internal/core/ciconfig"
)

func TestExpression(t *testing.T) {
	t.Parallel()
	l := ciconfig.OfMap(map[string]string{
		"A": "a", "EMPTY": "", "BLANK": " ", "RE": "/^fe.*/", "BAD": "/(/", "NOT": "fe", "BRANCH": "feature/x", "QUOTE": `it's`, "LINES": "one\ntwo",
	})
	for _, tt := range []struct {
		text string
		want bool
	}{
		{`$A`, true},
		{`$EMPTY`, false},
		{`$BLANK`, false},
		{`$NONE`, false},
		{`$NONE == null`, true},
		{`$NONE != null`, false},
		{`$EMPTY == null`, false},
		{`$EMPTY == ""`, true},
		{`$NONE == ""`, false},
		{`$NONE == $NOTHING`, true},
		{`$A == "a"`, true},
		{`"a" == $A`, true},
		{`$A == 'a'`, true},
		{`$A != "b"`, true},
		{`$QUOTE == "it's"`, true},
		{`$A=="a"&&$BRANCH=~/^fe/`, true},
		{`$BRANCH =~ /^feature\/.*$/`, true},
		{`$BRANCH =~ /^FEATURE/`, false},
		{`$BRANCH =~ /^FEATURE/i`, true},
		{`$BRANCH =~ $RE`, true},
		{`$BRANCH !~ $RE`, false},
		{`$BRANCH =~ $NOT`, false},
		{`$BRANCH =~ $BAD`, false},
		{`$BRANCH =~ $NONE`, false},
		{`$NONE =~ /x/`, false},
		{`$NONE !~ /x/`, true},
		{`$A !~ /x/`, true},
		{`$LINES =~ /^two$/`, false},
		{`$LINES =~ /^two$/m`, true},
		{`$LINES =~ /one.two/s`, true},
		{`$A || $NONE && $NONE`, true},
		{`($A || $NONE) && $NONE`, false},
		{`$NONE || $EMPTY || $A`, true},
		{`(($A))`, true},
		{`$A == "a" && ($BRANCH == "main" || $BRANCH =~ /x$/)`, true},
		{`"text"`, true},
		{`""`, false},
		{`null`, false},
		{"$A ==\n  \"a\"", true},
	} {
		e, err := ciconfig.ParseExpression(tt.text)
		if err != nil {
			t.Errorf("%s: %v", tt.text, err)
			continue
		}
		if got := e.Holds(l); got != tt.want || e.String() != tt.text {
			t.Errorf("%s is %t, want %t", tt.text, got, tt.want)
		}
	}
	for _, text := range []string{
		``, ` `, `$`, `$1`, `A`, `$A ==`, `== $A`, `$A == "a`, `$A = "a"`, `($A`, `$A)`, `$A $B`, `$A && `, `|| $A`, `$A =~ /(/`, `$A =~ //`, `$A =~ /x`, `$A =~ /x/z`, `nullable`, `!$A`,
		`$A == $B == $C`, `${A}`, strings.Repeat("(", 101) + "$A" + strings.Repeat(")", 101), `$A == "` + strings.Repeat("x", 65<<10) + `"`, `()`, `$A =~ /` + strings.Repeat("x", 1025) + `/`,
		`$A =~ /(?:(?:a{100}){10}b{1000}){1}(?:\pL{900}){1}` + strings.Repeat(`[a-z0-9]{1000}`, 30) + `/`,
	} {
		if _, err := ciconfig.ParseExpression(text); !errors.Is(err, ciconfig.ErrExpression) {
			t.Errorf("%.60s: got %v, want an error", text, err)
		}
	}
}

func FuzzParseExpression(f *testing.F) {
	for _, text := range []string{`$A == "a" && $B =~ /x/i || ($C != null)`, `'`, `/`, `(((`, `$A!~$B`, "\x00", `$A =~ /[/`} {
		f.Add(text, "value")
	}
	f.Fuzz(func(t *testing.T, text, value string) {
		e, err := ciconfig.ParseExpression(text)
		if err != nil {
			return
		}
		l := func(key string) (string, bool) { return value, key != "" && key[0] < 'N' }
		holds := e.Holds(l)
		both, err := ciconfig.ParseExpression("(" + text + ") && (" + text + ")")
		if err == nil && both.Holds(l) != holds {
			t.Errorf("%q is %t, and %t with itself", text, holds, !holds)
		}
	})
}

func TestExpand(t *testing.T) {
	t.Parallel()
	l := ciconfig.OfMap(map[string]string{"A": "a", "B": "$A"})
	for _, tt := range []struct{ text, want, known string }{
		{"plain", "plain", "plain"},
		{"$A", "a", "a"},
		{"${A}b", "ab", "ab"},
		{"%A%b", "ab", "ab"},
		{"$Ab", "", "$Ab"},
		{"x$B", "x$A", "x$A"},
		{"$$A", "$$A", "$$A"},
		{"$", "$", "$"},
		{"100% of ${", "100% of ${", "100% of ${"},
		{"${A", "${A", "${A"},
		{"%A", "%A", "%A"},
		{"$NONE-${NONE}", "-", "$NONE-${NONE}"},
	} {
		if got := ciconfig.Expand(tt.text, l); got != tt.want {
			t.Errorf("Expand(%q) is %q, want %q", tt.text, got, tt.want)
		}
		if got := ciconfig.ExpandKnown(tt.text, l); got != tt.known {
			t.Errorf("ExpandKnown(%q) is %q, want %q", tt.text, got, tt.known)
		}
	}
	large := ciconfig.OfMap(map[string]string{"A": strings.Repeat("x", 1<<20)})
	if got := len(ciconfig.Expand(strings.Repeat("$A", 1000), large)); got > ciconfig.MaxExpanded+4000 {
		t.Errorf("%d bytes are expanded", got)
	}
	if v, ok := ciconfig.First(nil, ciconfig.Of([]ciconfig.Variable{{Key: "A", Value: "1"}}), l)("A"); v != "1" || !ok {
		t.Errorf("first of two is %q, %t", v, ok)
	}
}

func TestParseDuration(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	for text, want := range map[string]time.Duration{
		"3600": time.Hour, "1 day": day, "30m": 30 * time.Minute, "1h 30m": 90 * time.Minute, "2 hrs 20 min": 140 * time.Minute, "6 mos 1 day": 181 * day,
		"3 days and 4 hours": 76 * time.Hour, "47 yrs 6 mos and 4d": 47*8766*time.Hour + 184*day, "1.5 h": 90 * time.Minute, "1 Week": 7 * day, "90 seconds": 90 * time.Second,
		"1 day, 2 hours": 26 * time.Hour, "42 minutes": 42 * time.Minute,
	} {
		if got, ok := ciconfig.ParseDuration(text); got != want || !ok {
			t.Errorf("%q is %v, %t, want %v", text, got, ok, want)
		}
	}
	for _, text := range []string{"", "never", "soon", "1 fortnight", "day", "-1 day", "1..2 days", "1000 years", "3 4"} {
		if got, ok := ciconfig.ParseDuration(text); ok {
			t.Errorf("%q is %v, want none", text, got)
		}
	}
}
