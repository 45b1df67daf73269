package config

import (
	"fmt"
	"strings"
)

// Problem is one thing that is wrong, with what to do about it.
type Problem struct {
	Key    string // in the file, or the name of a variable or flag
	Value  string // as given, secrets masked; "" where it does not matter
	Source string // file name, variable, flag or "default"; "" where the key says it
	Advice string
}

// String returns one line for people.
func (p Problem) String() string {
	var b strings.Builder
	b.WriteString(p.Key)
	if p.Value != "" {
		fmt.Fprintf(&b, " = %q", p.Value)
	}
	if p.Source != "" {
		fmt.Fprintf(&b, " (%s)", p.Source)
	}
	return b.String() + ": " + p.Advice
}

// ProblemsError reports every problem of a configuration at once.
type ProblemsError struct {
	Problems []Problem // never empty
}

// Error lists the problems, one per line.
func (e *ProblemsError) Error() string {
	var b strings.Builder
	if len(e.Problems) == 1 {
		b.WriteString("the configuration has a problem:")
	} else {
		fmt.Fprintf(&b, "the configuration has %d problems:", len(e.Problems))
	}
	for _, p := range e.Problems {
		b.WriteString("\n  " + p.String())
	}
	return b.String()
}

// didYouMean names the nearest of the known words, or nothing where none is near.
func didYouMean(word string, known []string) string {
	best := Nearest(word, known)
	if best == "" { // a key without its table, or a table without its key
		for _, k := range known {
			if strings.HasSuffix(k, "."+word) || strings.HasPrefix(k, word+".") || strings.ReplaceAll(k, ".", "_") == word {
				best = k
				break
			}
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %s?", best)
}

// Nearest is the known word that another one is a slip of, "" where none is near.
func Nearest(word string, known []string) string {
	best, near := "", 3 // two slips at most
	for _, k := range known {
		if d := distance(word, k); d < near {
			best, near = k, d
		}
	}
	return best
}

// distance counts the single-character edits between two words.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			swap := diagonal
			if a[i] != b[j] {
				swap++
			}
			diagonal = row[j+1]
			row[j+1] = min(swap, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
