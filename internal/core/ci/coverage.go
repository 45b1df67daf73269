package ci

import (
	"regexp"
	"strconv"
	"strings"
)

// compileCoverage reads the expression with which a job finds its coverage; nil where it has none.
func compileCoverage(expression string) (*regexp.Regexp, error) {
	expression = strings.TrimSuffix(strings.TrimPrefix(expression, "/"), "/")
	if expression == "" {
		return nil, nil
	}
	return regexp.Compile(expression)
}

// escapes are the sequences with which terminals are told colors.
var escapes = regexp.MustCompile(`\x1b\[[0-9;]*[A-Za-z]`)

var numbers = regexp.MustCompile(`\d+(?:\.\d+)?`)

// coverageIn returns the number in what an expression matches in a line: in its last group, or in all of it.
func coverageIn(re *regexp.Regexp, line string) (float64, bool) {
	m := re.FindStringSubmatch(escapes.ReplaceAllString(line, ""))
	if m == nil {
		return 0, false
	}
	n, err := strconv.ParseFloat(numbers.FindString(m[len(m)-1]), 64)
	return n, err == nil
}
