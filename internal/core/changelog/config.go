package changelog

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// config is what the file in the repository sets.
type config struct {
	dateFormat string
	categories map[string]string // value of the trailer to heading
	order      []string          // of headings
	template   []node
	tags       *regexp.Regexp
	groups     []string // full paths of groups whose members are credited
}

// defaultTemplate lists the entries by category, or says that there are none.
const defaultTemplate = `{% if categories %}
{% each categories %}
### {{ title }} ({% if single_change %}1 change{% else %}{{ count }} changes{% end %})

{% each entries %}
- [{{ title }}]({{ commit.reference }})\
{% if author.credit %} by {{ author.reference }}{% end %}{% if merge_request %} ([merge request]({{ merge_request.reference }})){% end %}

{% end %}

{% end %}
{% else %}
No changes.
{% end %}
`

// defaultTags matches semantic versions, with or without a v.
const defaultTags = `^v?(?P<major>0|[1-9]\d*)\.(?P<minor>0|[1-9]\d*)\.(?P<patch>0|[1-9]\d*)` +
	`(?:-(?P<pre>[0-9A-Za-z.-]+))?(?:\+(?P<meta>[0-9A-Za-z.-]+))?$`

// maxPattern bounds the regular expression for tags.
const maxPattern = 1000

// readConfig reads the configuration; no content is the default one. The errors are for
// the one who asks.
func readConfig(file string, content []byte) (*config, error) {
	c := &config{dateFormat: "%Y-%m-%d", categories: map[string]string{}}
	template, tags := defaultTemplate, defaultTags
	invalid := errors.New(file + " does not contain valid YAML")
	var root yaml.Node
	if err := yaml.Unmarshal(content, &root); err != nil || aliased(&root) {
		return nil, invalid
	}
	if len(root.Content) > 0 && root.Content[0].Kind != yaml.MappingNode && root.Content[0].Tag != "!!null" {
		return nil, invalid
	}
	if len(root.Content) > 0 {
		for key, value := range pairs(root.Content[0]) {
			switch key {
			case "date_format":
				c.dateFormat = value.Value
			case "template":
				template = value.Value
			case "tag_regex":
				tags = value.Value
			case "include_groups":
				for _, item := range value.Content {
					c.groups = append(c.groups, item.Value)
				}
			case "categories":
				if value.Kind != yaml.MappingNode {
					return nil, errors.New(`The "categories" configuration key must be a Hash`) //nolint:staticcheck // shown as it stands
				}
				for from, heading := range pairs(value) {
					c.categories[from] = heading.Value
					c.order = append(c.order, heading.Value)
				}
			}
		}
	}
	var err error
	if c.template, err = parse(template); err != nil {
		return nil, err
	}
	if c.tags, err = regexp.Compile(tags); err == nil && len(tags) > maxPattern {
		err = errors.New("it is too long")
	}
	if err != nil {
		return nil, fmt.Errorf("The regular expression to use for finding the previous tag for a version is invalid: %w", err) //nolint:staticcheck // shown as it stands
	}
	return c, nil
}

// aliased reports whether a document refers to parts of itself, which a small file can
// use to become a large one.
func aliased(n *yaml.Node) bool {
	if n.Kind == yaml.AliasNode {
		return true
	}
	for _, child := range n.Content {
		if aliased(child) {
			return true
		}
	}
	return false
}

// pairs goes through a mapping in its order.
func pairs(n *yaml.Node) func(yield func(string, *yaml.Node) bool) {
	return func(yield func(string, *yaml.Node) bool) {
		for i := 0; i+1 < len(n.Content); i += 2 {
			if !yield(n.Content[i].Value, n.Content[i+1]) {
				return
			}
		}
	}
}

// version is a semantic version.
type version struct {
	major, minor, patch uint64
	pre                 string
}

// versionPattern is what a version has to look like.
const versionPattern = `v?(0|[1-9]\d{0,17})\.(0|[1-9]\d{0,17})\.(0|[1-9]\d{0,17})(?:-([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?(?:\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?`

// parseVersion reads a version; a v before it does not count.
func parseVersion(s string) (version, bool) {
	m := regexp.MustCompile("^" + versionPattern + "$").FindStringSubmatch(s)
	if m == nil {
		return version{}, false
	}
	return newVersion(m[1], m[2], m[3], m[4])
}

func newVersion(major, minor, patch, pre string) (v version, ok bool) {
	var errs [3]error
	v.major, errs[0] = strconv.ParseUint(major, 10, 64)
	v.minor, errs[1] = strconv.ParseUint(minor, 10, 64)
	v.patch, errs[2] = strconv.ParseUint(patch, 10, 64)
	v.pre = pre
	return v, errors.Join(errs[:]...) == nil
}

// tagVersion reads the version that a tag names; false for other tags and for
// pre-releases.
func (c *config) tagVersion(tag string) (version, bool) {
	m := c.tags.FindStringSubmatch(tag)
	if m == nil {
		return version{}, false
	}
	group := func(name string) string {
		if i := c.tags.SubexpIndex(name); i >= 0 {
			return m[i]
		}
		return ""
	}
	if group("pre") != "" {
		return version{}, false
	}
	return newVersion(group("major"), group("minor"), group("patch"), "")
}

// less orders versions; a pre-release comes before its release.
func (v version) less(w version) bool {
	switch {
	case v.major != w.major:
		return v.major < w.major
	case v.minor != w.minor:
		return v.minor < w.minor
	case v.patch != w.patch:
		return v.patch < w.patch
	case v.pre == w.pre:
		return false
	case v.pre == "":
		return false
	case w.pre == "":
		return true
	}
	return lessPre(strings.Split(v.pre, "."), strings.Split(w.pre, "."))
}

// lessPre compares pre-releases part by part: numbers as numbers, and before words.
func lessPre(a, b []string) bool {
	for i := range min(len(a), len(b)) {
		if a[i] == b[i] {
			continue
		}
		x, errX := strconv.ParseUint(a[i], 10, 64)
		y, errY := strconv.ParseUint(b[i], 10, 64)
		switch {
		case errX == nil && errY == nil && x != y:
			return x < y
		case (errX == nil) != (errY == nil):
			return errX == nil
		}
		return a[i] < b[i]
	}
	return len(a) < len(b)
}
