package codeowner

import (
	"path"
	"strings"
)

// node is a place in the trie of the patterns of a section: what comes after some parts.
type node struct {
	id       int
	literals map[string]*node
	globs    []glob
	deep     *node // behind **
	loops    bool  // is behind **: any part leads back to it
	entry    int   // the last entry that ends here, counted from 1; 0 for none
}

type glob struct {
	part string
	next *node
}

func (f *File) node() *node {
	f.nodes++
	return &node{id: f.nodes - 1}
}

// insert adds a pattern that is the entry with a number.
func (f *File) insert(at *node, parts []string, entry int) {
	for _, part := range parts {
		at = f.child(at, part)
	}
	at.entry = entry
}

// child returns the node behind a part, a new one where there is none.
func (f *File) child(at *node, part string) *node {
	if part == "**" {
		if at.deep == nil {
			at.deep = f.node()
			at.deep.loops = true
		}
		return at.deep
	}
	if strings.ContainsAny(part, `*?[`) {
		for _, g := range at.globs {
			if g.part == part {
				return g.next
			}
		}
		at.globs = append(at.globs, glob{part, f.node()})
		return at.globs[len(at.globs)-1].next
	}
	part = unescape(part)
	if at.literals == nil {
		at.literals = map[string]*node{}
	}
	if at.literals[part] == nil {
		at.literals[part] = f.node()
	}
	return at.literals[part]
}

func unescape(part string) string {
	if !strings.Contains(part, `\`) {
		return part
	}
	var out strings.Builder
	for i := 0; i < len(part); i++ {
		if part[i] == '\\' && i+1 < len(part) {
			i++
		}
		out.WriteByte(part[i])
	}
	return out.String()
}

// maxSteps bounds the work of a Matcher: steps in tries and comparisons with wildcards, each of
// them linear in the name of a file or folder.
const maxSteps = 20_000_000

// Matcher finds the entries of paths. What it has found of the folders of a path it uses for
// the next one, so that sorted paths are cheaper. It is for one goroutine.
type Matcher struct {
	file  *File
	parts []string    // of the last path
	sets  [][][]*node // for each section, after each of the parts: where the patterns are
	marks []int       // by number of a node: the last round that reached it
	round int
	steps int
}

// Matcher returns a new one.
func (f *File) Matcher() *Matcher {
	m := &Matcher{file: f, sets: make([][][]*node, len(f.sections)), marks: make([]int, f.nodes)}
	for i, s := range f.sections {
		m.round++
		m.sets[i] = [][]*node{m.add(nil, s.root)}
	}
	return m
}

// Entries returns all entries, in the order of the sections.
func (f *File) Entries() []*Entry {
	var out []*Entry
	for _, s := range f.sections {
		out = append(out, s.entries...)
	}
	return out
}

// Match returns the entries that say who owns a file: the last of each section that matches its
// path, in the order of the sections. The error is ErrTooLarge.
func (m *Matcher) Match(file string) ([]*Entry, error) {
	parts := strings.Split(file, "/")
	same := 0
	for same < len(parts) && same < len(m.parts) && parts[same] == m.parts[same] {
		same++
	}
	m.parts = parts
	var out []*Entry
	for i, s := range m.file.sections {
		sets := m.sets[i][:same+1]
		m.steps += len(parts)
		for _, part := range parts[same:] {
			sets = append(sets, m.step(sets[len(sets)-1], part))
		}
		m.sets[i] = sets
		last := 0
		for _, n := range sets[len(sets)-1] {
			last = max(last, n.entry)
		}
		if last > 0 {
			out = append(out, s.entries[last-1])
		}
	}
	if m.steps > maxSteps {
		return nil, ErrTooLarge
	}
	return out, nil
}

// add puts a node that this round has not reached into a set, and the one behind its **.
func (m *Matcher) add(set []*node, n *node) []*node {
	for ; n != nil && m.marks[n.id] != m.round; n = n.deep {
		m.marks[n.id] = m.round
		set = append(set, n)
	}
	return set
}

// step returns the nodes that a part leads to.
func (m *Matcher) step(from []*node, part string) []*node {
	m.round++
	var out []*node
	for _, n := range from {
		if m.steps += 1 + len(n.globs); m.steps > maxSteps {
			return nil
		}
		if n.loops {
			out = m.add(out, n)
		}
		if next := n.literals[part]; next != nil {
			out = m.add(out, next)
		}
		for _, g := range n.globs {
			if ok, _ := path.Match(g.part, part); ok {
				out = m.add(out, g.next)
			}
		}
	}
	return out
}
