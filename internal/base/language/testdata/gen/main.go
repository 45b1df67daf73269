// Command gen writes the table of languages from the data of go-enry, which takes too
// much memory and time at start to be part of the server. Run it in this folder:
//
//	go run . > ../../languages.txt
package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-enry/go-enry/v2/data"
)

func main() {
	fmt.Println("# Which language a file is in, after GitHub Linguist, commit " + data.LinguistCommit + ".")
	fmt.Println("# Written by testdata/gen. Copyright (c) 2017 GitHub, Inc.; MIT License, see NOTICE.")
	counts := map[string]bool{}
	for name, kind := range data.LanguagesType {
		counts[name] = kind == int(data.TypeProgramming) || kind == int(data.TypeMarkup)
	}
	table := func(section string, entries map[string][]string) {
		for _, key := range slices.Sorted(maps.Keys(entries)) {
			names := make([]string, len(entries[key]))
			for i, name := range entries[key] {
				names[i] = name
				if !counts[name] {
					names[i] = "-" + name
				}
			}
			fmt.Println(section + "\t" + key + "\t" + strings.Join(names, "\t"))
		}
	}
	table("ext", data.LanguagesByExtension)
	table("file", data.LanguagesByFilename)
	table("run", data.LanguagesByInterpreter)
	for _, m := range data.VendorMatchers {
		fmt.Println("vendor\t" + m.String())
	}
	for _, m := range data.DocumentationMatchers {
		fmt.Println("doc\t" + m.String())
	}
}
