// Package license knows the common licenses of free software: their names, what they
// allow, and the texts of those that a new project is likely to take.
package license

import (
	"cmp"
	"embed"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/google/licensecheck"

	"tenon/internal/base/page"
	"tenon/internal/base/pattern"
)

// License is one license.
type License struct {
	Key      string // SPDX id in small letters
	SPDX     string
	Name     string
	Nickname string // "" for none
	Popular  bool
	Traits   Traits
}

// Traits say in words what a license is about.
type Traits struct {
	Description string
	Permissions []string
	Conditions  []string
	Limitations []string
}

//go:embed texts/*.txt
var texts embed.FS

// Other is the key of a license that is none of those known.
const Other = "other"

// What permissive, patent-aware and sharing licenses have in common.
var (
	anyUse     = []string{"commercial-use", "modifications", "distribution", "private-use"}
	withPatent = append(slices.Clone(anyUse), "patent-use")
	asIs       = []string{"liability", "warranty"}
	notice     = []string{"include-copyright"}
	copyleft   = []string{"include-copyright", "document-changes", "disclose-source", "same-license"}
)

var known = []License{
	{"0bsd", "0BSD", "BSD Zero Clause License", "", false, Traits{
		"Everything is allowed, without any condition.", anyUse, []string{}, asIs,
	}},
	{"afl-3.0", "AFL-3.0", "Academic Free License v3.0", "", false, Traits{
		"Everything is allowed as long as notices stay and changes are named, with a grant of patents.", withPatent,
		[]string{"include-copyright", "document-changes"},
		append([]string{"trademark-use"}, asIs...),
	}},
	{"agpl-3.0", "AGPL-3.0", "GNU Affero General Public License v3.0", "GNU AGPLv3", false, Traits{
		"Changed versions that others use over a network must offer their source under the same license.",
		withPatent, append(slices.Clone(copyleft), "network-use-disclose"), asIs,
	}},
	{"apache-2.0", "Apache-2.0", "Apache License 2.0", "", true, Traits{
		"Everything is allowed as long as notices stay, with a grant of patents from all who contribute.",
		withPatent,
		[]string{"include-copyright", "document-changes"},
		append([]string{"trademark-use"}, asIs...),
	}},
	{"artistic-2.0", "Artistic-2.0", "Artistic License 2.0", "", false, Traits{
		"Changed versions are allowed if they say so and leave room for the original beside them.", withPatent,
		[]string{"include-copyright", "document-changes"},
		append([]string{"trademark-use"}, asIs...),
	}},
	{"bsd-2-clause", "BSD-2-Clause", `BSD 2-Clause "Simplified" License`, "", false, Traits{
		"Everything is allowed as long as the copyright notice stays.", anyUse, notice, asIs,
	}},
	{"bsd-3-clause", "BSD-3-Clause", `BSD 3-Clause "New" or "Revised" License`, "", false, Traits{
		"Like the one with two clauses, but the authors' names may not advertise what others make of it.", anyUse, notice, asIs,
	}},
	{"bsd-3-clause-clear", "BSD-3-Clause-Clear", "BSD 3-Clause Clear License", "", false, Traits{
		"Like the one with three clauses, and says that no patent is granted.", anyUse, notice, append([]string{"patent-use"}, asIs...),
	}},
	{"bsl-1.0", "BSL-1.0", "Boost Software License 1.0", "", false, Traits{
		"Everything is allowed; the notice must stay in source code only.", anyUse, []string{"include-copyright--source"}, asIs,
	}},
	{"cc-by-4.0", "CC-BY-4.0", "Creative Commons Attribution 4.0 International", "", false, Traits{
		"For texts, pictures and data: everything is allowed as long as the authors are named and changes are marked.", anyUse,
		[]string{"include-copyright", "document-changes"},
		append([]string{"trademark-use", "patent-use"}, asIs...),
	}},
	{"cc-by-sa-4.0", "CC-BY-SA-4.0", "Creative Commons Attribution Share Alike 4.0 International", "", false, Traits{
		"For texts, pictures and data: like the one without sharing, and changed versions stay under the same license.", anyUse,
		[]string{"include-copyright", "document-changes", "same-license"},
		append([]string{"trademark-use", "patent-use"}, asIs...),
	}},
	{"cc0-1.0", "CC0-1.0", "Creative Commons Zero v1.0 Universal", "", false, Traits{
		"The authors give up all rights as far as the law lets them.", anyUse, []string{}, append([]string{"trademark-use", "patent-use"}, asIs...),
	}},
	{"ecl-2.0", "ECL-2.0", "Educational Community License v2.0", "", false, Traits{
		"Like the Apache License 2.0, with a grant of patents that fits universities.", withPatent,
		[]string{"include-copyright", "document-changes"},
		append([]string{"trademark-use"}, asIs...),
	}},
	{"epl-2.0", "EPL-2.0", "Eclipse Public License 2.0", "", false, Traits{
		"Changed files stay under the license; works that only use them need not.", withPatent,
		[]string{"disclose-source", "include-copyright", "same-license"},
		asIs,
	}},
	{"eupl-1.2", "EUPL-1.2", "European Union Public License 1.2", "", false, Traits{
		"Changed versions stay under this license or a compatible one, also where others use them over a network.", withPatent,
		append(slices.Clone(copyleft), "network-use-disclose"),
		append([]string{"trademark-use"}, asIs...),
	}},
	{"gpl-2.0", "GPL-2.0", "GNU General Public License v2.0", "GNU GPLv2", false, Traits{
		"Whoever passes changed versions on must offer their source under the same license.", anyUse, copyleft, asIs,
	}},
	{"gpl-3.0", "GPL-3.0", "GNU General Public License v3.0", "GNU GPLv3", true, Traits{
		"Whoever passes changed versions on must offer their source under the same license, with a grant of patents.",
		withPatent, copyleft, asIs,
	}},
	{"isc", "ISC", "ISC License", "", false, Traits{
		"Everything is allowed as long as the copyright notice stays.", anyUse, notice, asIs,
	}},
	{"lgpl-2.1", "LGPL-2.1", "GNU Lesser General Public License v2.1", "GNU LGPLv2.1", false, Traits{
		"Changed versions stay under the license; works that link with it may have another.", anyUse,
		[]string{"include-copyright", "disclose-source", "document-changes", "same-license--library"},
		asIs,
	}},
	{"lgpl-3.0", "LGPL-3.0", "GNU Lesser General Public License v3.0", "GNU LGPLv3", false, Traits{
		"Changed versions stay under the license; works that link with it may have another. It adds to the GPL of version 3.", withPatent,
		[]string{"include-copyright", "disclose-source", "document-changes", "same-license--library"},
		asIs,
	}},
	{"mit", "MIT", "MIT License", "", true, Traits{
		"Everything is allowed as long as the copyright notice stays.", anyUse, notice, asIs,
	}},
	{"mit-0", "MIT-0", "MIT No Attribution", "", false, Traits{
		"Like the MIT License, and the notice may go.", anyUse, []string{}, asIs,
	}},
	{"mpl-2.0", "MPL-2.0", "Mozilla Public License 2.0", "", false, Traits{
		"Changed files stay under the license; works that contain them may have another.", withPatent,
		[]string{"disclose-source", "include-copyright", "same-license--file"},
		append([]string{"trademark-use"}, asIs...),
	}},
	{"ms-pl", "MS-PL", "Microsoft Public License", "", false, Traits{
		"Everything is allowed as long as notices stay and source code keeps the license, with a grant of patents.", withPatent, notice,
		append([]string{"trademark-use"}, "warranty"),
	}},
	{"ms-rl", "MS-RL", "Microsoft Reciprocal License", "", false, Traits{
		"Files that hold code of it stay under the license, with a grant of patents.", withPatent,
		[]string{"disclose-source", "include-copyright", "same-license--file"},
		append([]string{"trademark-use"}, "warranty"),
	}},
	{"ncsa", "NCSA", "University of Illinois/NCSA Open Source License", "", false, Traits{
		"Everything is allowed as long as the copyright notice stays, and names do not advertise what others make of it.", anyUse, notice, asIs,
	}},
	{"ofl-1.1", "OFL-1.1", "SIL Open Font License 1.1", "", false, Traits{
		"For fonts: they may go with anything, but not be sold by themselves; changed ones have another name.",
		[]string{"commercial-use", "modifications", "distribution", "private-use"},
		[]string{"include-copyright", "same-license"},
		asIs,
	}},
	{"osl-3.0", "OSL-3.0", "Open Software License 3.0", "", false, Traits{
		"Changed versions stay under the license, also where others use them over a network, with a grant of patents.", withPatent,
		append(slices.Clone(copyleft), "network-use-disclose"),
		append([]string{"trademark-use"}, asIs...),
	}},
	{"unlicense", "Unlicense", "The Unlicense", "", false, Traits{
		"The authors give the work to everybody, without any condition.", anyUse, []string{}, asIs,
	}},
	{"upl-1.0", "UPL-1.0", "Universal Permissive License v1.0", "", false, Traits{
		"Everything is allowed as long as a notice stays, with a grant of patents.", withPatent, notice, asIs,
	}},
	{"wtfpl", "WTFPL", `"Do What The F*ck You Want To Public License"`, "", false, Traits{
		"Everything is allowed, in plain words.", anyUse, []string{}, []string{},
	}},
	{"zlib", "Zlib", "zlib License", "", false, Traits{
		"Everything is allowed as long as the notice stays in source code and changed versions say so.", anyUse,
		[]string{"include-copyright--source", "document-changes"},
		asIs,
	}},
}

// names are those of licenses that are recognised, but not offered.
var names = map[string]string{
	"EPL-1.0": "Eclipse Public License 1.0", "PostgreSQL": "PostgreSQL License", "Vim": "Vim License",
}

// All returns the licenses that are offered, by key.
func All() []License { return slices.Clone(known) }

// List returns a page of the licenses that are offered: all where popular is nil, else those
// that are popular or those that are not.
func List(popular *bool, r page.Range) (page.Page[License], error) {
	list := All()
	if popular != nil {
		list = slices.DeleteFunc(list, func(l License) bool { return l.Popular != *popular })
	}
	return page.Snapshot(list, "licenses", r)
}

// Find returns a license by its key, in any case; ok is false for one that is neither
// offered nor recognised.
func Find(key string) (l License, ok bool) {
	for _, l := range known {
		if strings.EqualFold(l.Key, key) {
			return l, true
		}
	}
	for id, name := range names {
		if strings.EqualFold(id, key) {
			return License{Key: strings.ToLower(id), SPDX: id, Name: name}, true
		}
	}
	return License{}, false
}

var (
	years    = pattern.New(`[<{\[](?:year|yyyy)[>}\]]`)
	owners   = pattern.New(`[<{\[](?:fullname|name of author|name of copyright owner|name of copyright holder)[>}\]]`)
	projects = pattern.New(`[<{\[](?:project|program|one line to give the (?:program|library)'s name and (?:a brief|an) idea of what it does\.)[>}\]]`)
)

// Filling is what is in the blanks of a text; an empty value leaves its blanks.
type Filling struct {
	Year              int
	FullName, Project string
}

// Text returns the text of a license with its blanks filled in, "" for one that is not offered.
func (l License) Text(f Filling) string {
	raw, err := texts.ReadFile("texts/" + l.Key + ".txt")
	if err != nil {
		return ""
	}
	text := string(raw)
	if f.Year > 0 {
		text = years().ReplaceAllLiteralString(text, strconv.Itoa(f.Year))
	}
	if f.FullName != "" {
		text = owners().ReplaceAllLiteralString(text, f.FullName)
	}
	if f.Project != "" {
		text = projects().ReplaceAllLiteralString(text, f.Project)
	}
	return text
}

// scanner compares with the licenses that Find knows; to prepare for all there are would
// take a second.
var scanner = sync.OnceValues(func() (*licensecheck.Scanner, error) {
	chosen := slices.DeleteFunc(licensecheck.BuiltinLicenses(), func(l licensecheck.License) bool {
		_, ok := Find(key(l.ID))
		return l.LRE == "" || !ok && l.ID != "BSD"
	})
	return licensecheck.NewScanner(chosen)
})

func key(id string) string {
	return strings.ToLower(strings.TrimSuffix(strings.TrimSuffix(id, "-only"), "-or-later"))
}

// Detect returns the key of the license that most of a text is, Other where it is none
// that is known.
func Detect(text []byte) (string, error) {
	s, err := scanner()
	if err != nil {
		return "", err
	}
	c := s.Scan(text)
	if len(c.Match) == 0 || c.Percent < 75 {
		return Other, nil
	}
	best := slices.MaxFunc(c.Match, func(a, b licensecheck.Match) int { return cmp.Compare(a.End-a.Start, b.End-b.Start) })
	if _, ok := Find(key(best.ID)); !ok {
		return Other, nil
	}
	return key(best.ID), nil
}
