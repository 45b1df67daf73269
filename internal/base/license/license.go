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
	{"bsd-2-clause", "BSD-2-Clause", `BSD 2-Clause "Simplified" License`, "", false, Traits{
		"Everything is allowed as long as the copyright notice stays.", anyUse, notice, asIs,
	}},
	{"bsd-3-clause", "BSD-3-Clause", `BSD 3-Clause "New" or "Revised" License`, "", false, Traits{
		"Like the one with two clauses, but the authors' names may not advertise what others make of it.", anyUse, notice, asIs,
	}},
	{"bsl-1.0", "BSL-1.0", "Boost Software License 1.0", "", false, Traits{
		"Everything is allowed; the notice must stay in source code only.", anyUse, []string{"include-copyright--source"}, asIs,
	}},
	{"cc0-1.0", "CC0-1.0", "Creative Commons Zero v1.0 Universal", "", false, Traits{
		"The authors give up all rights as far as the law lets them.", anyUse, []string{}, append([]string{"trademark-use", "patent-use"}, asIs...),
	}},
	{"epl-2.0", "EPL-2.0", "Eclipse Public License 2.0", "", false, Traits{
		"Changed files stay under the license; works that only use them need not.", withPatent,
		[]string{"disclose-source", "include-copyright", "same-license"},
		asIs,
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
	{"mit", "MIT", "MIT License", "", true, Traits{
		"Everything is allowed as long as the copyright notice stays.", anyUse, notice, asIs,
	}},
	{"mpl-2.0", "MPL-2.0", "Mozilla Public License 2.0", "", false, Traits{
		"Changed files stay under the license; works that contain them may have another.", withPatent,
		[]string{"disclose-source", "include-copyright", "same-license--file"},
		append([]string{"trademark-use"}, asIs...),
	}},
	{"unlicense", "Unlicense", "The Unlicense", "", false, Traits{
		"The authors give the work to everybody, without any condition.", anyUse, []string{}, asIs,
	}},
}

// names are those of licenses that are recognised, but not offered.
var names = map[string]string{
	"0BSD": "BSD Zero Clause License", "Artistic-2.0": "Artistic License 2.0", "BSD-3-Clause-Clear": "BSD 3-Clause Clear License",
	"CC-BY-4.0": "Creative Commons Attribution 4.0 International", "CC-BY-SA-4.0": "Creative Commons Attribution Share Alike 4.0 International",
	"ECL-2.0": "Educational Community License v2.0", "EPL-1.0": "Eclipse Public License 1.0", "EUPL-1.2": "European Union Public License 1.2",
	"LGPL-3.0": "GNU Lesser General Public License v3.0", "MIT-0": "MIT No Attribution", "MS-PL": "Microsoft Public License",
	"MS-RL": "Microsoft Reciprocal License", "NCSA": "University of Illinois/NCSA Open Source License", "OFL-1.1": "SIL Open Font License 1.1",
	"OSL-3.0": "Open Software License 3.0", "PostgreSQL": "PostgreSQL License", "UPL-1.0": "Universal Permissive License v1.0",
	"Vim": "Vim License", "WTFPL": `"Do What The F*ck You Want To Public License"`, "Zlib": "zlib License",
}

// List gives the licenses that are offered, by key.
func List() []License { return slices.Clone(known) }

// Find gives a license by its key, in any case; ok is false for one that is neither
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

// Filling is what stands in the blanks of a text; an empty value leaves its blanks.
type Filling struct {
	Year              int
	FullName, Project string
}

// Text gives the text of a license with its blanks filled in, "" for one that is not offered.
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

// Detect gives the key of the license that most of a text is, Other where it is none
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
