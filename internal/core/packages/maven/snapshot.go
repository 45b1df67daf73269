package maven

import (
	"strconv"
	"strings"

	"tenon/internal/base/pattern"
)

// buildPath is where the metadata of a snapshot names the newest file of each kind.
const buildPath = "metadata/versioning/snapshotVersions/snapshotVersion"

// build is a file of a snapshot: the newest with its classifier and extension.
type build struct {
	span

	classifier, extension string
	value, updated        element // where they are there
}

func (b *build) add(name string, e element) {
	switch name {
	case "classifier":
		b.classifier = e.text
	case "extension":
		b.extension = e.text
	case "value":
		b.value = e
	case "updated":
		b.updated = e
	}
}

// named reports whether it names a file.
func (b *build) named() bool { return b.value.text != "" && b.extension != "" }

// file is the name of the file of an artifact with a value.
func (b *build) file(artifact, value string) string {
	name := artifact + "-" + value
	if b.classifier != "" {
		name += "-" + b.classifier
	}
	return name + "." + b.extension
}

// buildOf is a version of a build: 1.0-20260102.030405-6.
var buildOf = pattern.New(`\A(.+)-([0-9]{8})\.([0-9]{6})-([0-9]{1,9})\z`)

// stamp is what the version of a build says of when it was made.
type stamp struct {
	timestamp string // 20260102.030405
	number    int
}

func stampOf(value string) (s stamp, ok bool) {
	m := buildOf().FindStringSubmatch(value)
	if m == nil {
		return stamp{}, false
	}
	s.timestamp = m[2] + "." + m[3]
	s.number, _ = strconv.Atoi(m[4]) // digits alone
	return s, true
}

func (s stamp) compare(other stamp) int {
	if n := strings.Compare(s.timestamp, other.timestamp); n != 0 {
		return n
	}
	return s.number - other.number
}

// keepBuilds returns the metadata of a snapshot of an artifact with those of its files that are there, by name. Where the newest of a kind is not, the
// newest of those that are takes its place. Left is how many kinds are listed then.
func (d *document) keepBuilds(artifact, version string, there []string, moment string) (text []byte, left int, changed bool) {
	base := strings.TrimSuffix(version, snapshot)
	known := make(map[string]bool, len(there))
	for _, name := range there {
		known[name] = true
	}
	var edits []edit
	var newest stamp
	for _, b := range d.builds {
		value := b.value.text
		if b.named() && !known[b.file(artifact, value)] {
			if value = b.before(artifact, base, there); value == "" {
				edits = append(edits, edit{span: d.withSpace(b.span)})
				continue
			}
			edits = append(edits, edit{b.value.inner, escaped(value)})
			if s, _ := stampOf(value); b.updated.text != "" {
				edits = append(edits, edit{b.updated.inner, strings.Replace(s.timestamp, ".", "", 1)})
			}
		}
		left++
		if s, ok := stampOf(value); ok && s.compare(newest) > 0 {
			newest = s
		}
	}
	if len(edits) == 0 {
		return d.text, left, false
	}
	for _, e := range d.newest {
		to := newest.timestamp
		if e.name == "buildNumber" {
			to = strconv.Itoa(newest.number)
		}
		if newest.timestamp != "" && e.text != "" {
			edits = append(edits, edit{e.inner, to})
		}
	}
	return d.apply(edits, moment), left, true
}

// before is the value of the newest file of the kind that is there, "" for none.
func (b *build) before(artifact, base string, there []string) (value string) {
	head, tail := artifact+"-", strings.TrimPrefix(b.file(artifact, ""), artifact+"-")
	var newest stamp
	for _, name := range there {
		middle, ok := strings.CutPrefix(name, head)
		if ok {
			middle, ok = strings.CutSuffix(middle, tail)
		}
		if s, made := stampOf(middle); ok && made && strings.HasPrefix(middle, base+"-"+s.timestamp+"-") && s.compare(newest) > 0 {
			value, newest = middle, s
		}
	}
	return value
}
