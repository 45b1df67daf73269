package ciconfig

import (
	"regexp"
	"regexp/syntax"
	"strings"
	"sync"
	"sync/atomic"
)

// Bounds of regular expressions, which take time linear in the product of their program and the text.
const (
	maxRegex   = 1024       // bytes of a pattern
	maxProgram = 4_000      // instructions of its program
	maxSteps   = 50_000_000 // instructions times bytes, of all matches of an evaluation
)

// budget is how much work is left.
type budget struct{ left int }

// spend takes work from a budget; it is false where nothing is left.
func (b *budget) spend(n int) bool {
	b.left = max(b.left-n, -1)
	return b.left >= 0
}

// compileSteps is what compiling costs for each instruction.
const compileSteps = 300

// regex is a regular expression, which is compiled when it is first matched.
type regex struct {
	pattern string
	cost    int // of a match for each byte, at most
	re      func() *regexp.Regexp
	ready   atomic.Bool
}

// compile makes a regular expression with flags of ismU; nil where it is wrong or too large.
func compile(pattern, flags string) *regex {
	if len(pattern) > maxRegex {
		return nil
	}
	if flags != "" {
		pattern = "(?" + flags + ")" + pattern
	}
	tree, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return nil
	}
	cost := instructions(tree, maxProgram)
	if cost > maxProgram {
		return nil
	}
	return &regex{pattern: pattern, cost: cost, re: sync.OnceValue(func() *regexp.Regexp {
		re, err := regexp.Compile(pattern)
		if err != nil {
			return nil
		}
		return re
	})}
}

// instructions counts those of the program of a tree, up to a bound and one more.
func instructions(t *syntax.Regexp, most int) int {
	n := 1
	switch t.Op {
	case syntax.OpLiteral:
		n = len(t.Rune)
	case syntax.OpCharClass:
		n = 1 + len(t.Rune)/16
	}
	for _, s := range t.Sub {
		if n += instructions(s, most); n > most {
			return most + 1
		}
	}
	if t.Op == syntax.OpRepeat {
		n *= max(t.Min, t.Max, 1)
	}
	return min(n, most+1)
}

// match tells whether a text matches. It does not where the regex is nil or the budget is spent.
func (r *regex) match(text string, b *budget) bool {
	if r == nil || !b.spend(r.cost*(len(text)+1)) || !r.ready.Load() && !b.spend(r.cost*compileSteps) {
		return false
	}
	re := r.re()
	r.ready.Store(true)
	return re != nil && re.MatchString(text)
}

// cutRegex reads /pattern/flags at the start of a text.
func cutRegex(text string) (r *regex, rest string, ok bool) {
	if !strings.HasPrefix(text, "/") {
		return nil, text, false
	}
	end := 1
	for end < len(text) && text[end] != '/' {
		if text[end] == '\\' {
			end++
		}
		end++
	}
	if end >= len(text) || end == 1 {
		return nil, text, false
	}
	pattern, flags := text[1:end], end+1
	for end++; end < len(text) && isWord(text[end]); end++ {
		if !strings.Contains("ismU", text[end:end+1]) {
			return nil, text, false
		}
	}
	r = compile(pattern, text[flags:end])
	return r, text[end:], r != nil
}
