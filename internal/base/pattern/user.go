package pattern

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
)

// maxSteps bounds a compiled pattern. Matching takes at most so many steps for each
// byte that is looked at.
const maxSteps = 2000

type tooComplex struct{}

func (tooComplex) Error() string { return "expression too large" }

// Compile compiles an expression that a user wrote, nil for the empty one. One that takes too many steps is refused. The
// message of the error is for the user.
func Compile(text string) (*regexp.Regexp, error) {
	if text == "" {
		return nil, nil
	}
	parsed, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil, plain(err)
	}
	if size(parsed) > maxSteps {
		return nil, tooComplex{}
	}
	re, err := regexp.Compile(text)
	return re, plain(err)
}

// classShare is how many bounds of a class of characters count as one step: a class is
// one step of a search, and takes memory.
const classShare = 256

// size estimates the steps of a compiled pattern before it is compiled, so that a
// pattern of nested repetitions costs nothing.
func size(re *syntax.Regexp) int {
	sum := 1 + len(re.Rune)
	if re.Op == syntax.OpCharClass {
		sum = 1 + len(re.Rune)/classShare
	}
	for _, sub := range re.Sub {
		sum += size(sub)
	}
	if re.Op == syntax.OpRepeat {
		sum *= max(re.Min, re.Max, 1)
	}
	return min(sum, maxSteps+1)
}

// plain returns what is wrong with a pattern without the words around it.
func plain(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s", strings.TrimPrefix(err.Error(), "error parsing regexp: "))
}
