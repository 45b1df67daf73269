// Command sbom writes beside each binary a list of the modules that it was built from, in
// the form of CycloneDX: <binary>.cdx.json. The list is what the toolchain noted in the
// binary, so that it names what is linked and no more. The same binary gives the same list.
package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

func main() {
	version := flag.String("version", "", "version of the program")
	flag.Parse()
	for _, name := range flag.Args() {
		if err := write(name, *version); err != nil {
			fmt.Fprintf(os.Stderr, "sbom: %s: %v\n", name, err)
			os.Exit(1)
		}
	}
}

func write(name, version string) (err error) {
	list, err := describe(name, version)
	if err != nil {
		return err
	}
	f, err := os.Create(name + ".cdx.json")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	e := cdx.NewBOMEncoder(f, cdx.BOMFileFormatJSON)
	e.SetPretty(true)
	return e.EncodeVersion(list, cdx.SpecVersion1_5)
}

// describe reads what a binary was built from.
func describe(name, version string) (*cdx.BOM, error) {
	info, err := buildinfo.ReadFile(name)
	if err != nil {
		return nil, err
	}
	bytes, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(bytes)
	program := cdx.Component{
		BOMRef: "tenon", Type: cdx.ComponentTypeApplication, Name: filepath.Base(name), Version: version,
		Licenses: &cdx.Licenses{{License: &cdx.License{ID: "MIT"}}},
		Hashes:   &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: hex.EncodeToString(sum[:])}},
	}
	parts := []cdx.Component{module("std", info.GoVersion[len("go"):], "")}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		parts = append(parts, module(m.Path, m.Version, m.Sum))
	}
	needs := make([]string, len(parts))
	for i, p := range parts {
		needs[i] = p.BOMRef
	}
	list := cdx.NewBOM()
	list.Metadata = &cdx.Metadata{Component: &program}
	list.Components = &parts
	list.Dependencies = &[]cdx.Dependency{{Ref: program.BOMRef, Dependencies: &needs}}
	return list, nil
}

// module describes one Go module; sum is that of go.sum, "" for the standard library.
func module(path, version, sum string) cdx.Component {
	url := "pkg:golang/" + path + "@" + version
	c := cdx.Component{BOMRef: url, Type: cdx.ComponentTypeLibrary, Name: path, Version: version, PackageURL: url}
	if sum != "" {
		c.Properties = &[]cdx.Property{{Name: "go:sum", Value: sum}}
	}
	return c
}
