package main

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
)

// split makes rules of a pattern: what it looks at before and after the match becomes patterns of
// their own, and what it looks at within is left out. It reports false for a pattern that refers to
// its groups.
func split(r rule, pattern, flags string) ([]rule, bool) {
	if made, ok := apart(r, pattern, flags); ok {
		return made, true
	}
	return apart(r, lookaround.ReplaceAllString(pattern, ""), flags)
}

// lookaround is a group that looks around, without groups in it.
var lookaround = regexp.MustCompile(`\(\?<?[=!](?:[^()\[\]\\]|\\.|\[\^?\]?(?:[^\]\\]|\\.)*\])*\)`)

func apart(r rule, pattern, flags string) ([]rule, bool) {
	if made, ok := single(r, pattern, flags); ok {
		return []rule{made}, true
	}
	alternatives := alternativesOf(pattern)
	if len(alternatives) < 2 || r.Groups {
		return nil, false
	}
	var out []rule
	for _, a := range alternatives {
		if made, ok := single(r, a, flags); ok {
			out = append(out, made)
		}
	}
	return out, len(out) > 0
}

func single(r rule, pattern, flags string) (rule, bool) {
	body := pattern
	if leading, ok := strings.CutPrefix(body, "(?i)"); ok && !strings.Contains(flags, "i") {
		flags, body = flags+"i", leading
	}
	if len(alternativesOf(body)) == 1 {
		if rest, ok := strings.CutPrefix(body, `\A`); ok {
			r.Before, body = &look{Pattern: `\A`}, rest // the text before is empty
		}
		for text, not := range map[string]bool{"(?<=": false, "(?<!": true} {
			if rest, ok := strings.CutPrefix(body, text); ok && r.Before == nil {
				end := closing(rest)
				if end < 0 {
					return r, false
				}
				r.Before, body = &look{Pattern: flagged(rest[:end], flags), Not: not}, rest[end+1:]
			}
		}
		if at := lastGroup(body); at >= 0 {
			for text, not := range map[string]bool{"(?=": false, "(?!": true} {
				if rest, ok := strings.CutPrefix(body[at:], text); ok && r.After == nil {
					r.After, body = &look{Pattern: flagged(rest[:len(rest)-1], flags), Not: not}, body[:at]
				}
			}
		}
	}
	r.Pattern = flagged(body, flags)
	for _, l := range []*look{r.Before, r.After} {
		if l == nil {
			continue
		}
		if _, err := regexp.Compile(l.Pattern); err != nil {
			return r, false
		}
	}
	re, err := regexp.Compile(r.Pattern)
	if err != nil || r.Groups && re.NumSubexp() != len(r.Parts) {
		return r, false
	}
	if r.After != nil && !r.After.Not { // a match ends where the rest of the pattern fits
		r.Pattern, r.Ahead, r.After = "("+r.Pattern+")"+r.After.Pattern, true, nil
	}
	r.First, r.Any = first(r.Pattern)
	return r, true
}

func flagged(pattern, flags string) string {
	if flags == "" {
		return "(?:" + pattern + ")"
	}
	return "(?" + flags + ":" + pattern + ")"
}

// walk calls do for each character of a pattern that is neither escaped nor in a class, with how
// many groups are open before it.
func walk(pattern string, do func(i, depth int, c byte) bool) {
	depth := 0
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; c {
		case '\\':
			i++
		case '[':
			i++
			if i < len(pattern) && pattern[i] == '^' {
				i++
			}
			if i < len(pattern) && pattern[i] == ']' {
				i++
			}
			for ; i < len(pattern) && pattern[i] != ']'; i++ {
				if pattern[i] == '\\' {
					i++
				}
			}
		default:
			if !do(i, depth, c) {
				return
			}
			switch c {
			case '(':
				depth++
			case ')':
				depth--
			}
		}
	}
}

// alternativesOf returns the alternatives of a pattern.
func alternativesOf(pattern string) []string {
	var out []string
	from := 0
	walk(pattern, func(i, depth int, c byte) bool {
		if c == '|' && depth == 0 {
			out = append(out, pattern[from:i])
			from = i + 1
		}
		return true
	})
	return append(out, pattern[from:])
}

// closing returns where the group that is open at the start ends, -1 for nowhere.
func closing(pattern string) int {
	end := -1
	walk(pattern, func(i, depth int, c byte) bool {
		if c == ')' && depth == 0 {
			end = i
		}
		return end < 0
	})
	return end
}

// lastGroup returns where the group begins that ends the pattern, -1 for none.
func lastGroup(pattern string) int {
	start, last := -1, -1
	walk(pattern, func(i, depth int, c byte) bool {
		if c == '(' && depth == 0 {
			start = i
		}
		if c == ')' && depth == 1 && i == len(pattern)-1 {
			last = start
		}
		return true
	})
	return last
}

// first returns the ASCII characters that a match may begin with. It reports true where a match may
// begin with others or be empty.
func first(pattern string) (string, bool) {
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return "", true
	}
	prog, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return "", true
	}
	var set [16]byte
	open := false
	seen := map[uint32]bool{}
	var visit func(pc uint32)
	visit = func(pc uint32) {
		if seen[pc] {
			return
		}
		seen[pc] = true
		switch in := &prog.Inst[pc]; in.Op {
		case syntax.InstAlt, syntax.InstAltMatch:
			visit(in.Out)
			visit(in.Arg)
		case syntax.InstCapture, syntax.InstEmptyWidth, syntax.InstNop:
			visit(in.Out)
		case syntax.InstMatch:
			open = true
		case syntax.InstRune, syntax.InstRune1, syntax.InstRuneAny, syntax.InstRuneAnyNotNL:
			for c := range rune(128) {
				if in.MatchRune(c) {
					set[c/8] |= 1 << (c % 8)
				}
			}
			open = open || in.Op == syntax.InstRuneAny || in.Op == syntax.InstRuneAnyNotNL || len(in.Rune) == 0 ||
				in.Rune[len(in.Rune)-1] > 127 || syntax.Flags(in.Arg)&syntax.FoldCase != 0
		}
	}
	visit(uint32(prog.Start))
	return fmt.Sprintf("%x", set), open
}
