package ciconfig

import (
	"maps"
	"slices"
	"sort"
	"strings"
)

// ReportType says in which form a runner sends a report, and under which name.
type ReportType struct{ Format, Filename string }

// reportTypes are the kinds of reports by their keywords.
var reportTypes = map[string]ReportType{
	"accessibility": {"raw", "gl-accessibility.json"}, "annotations": {"gzip", "gl-annotations.json"}, "api_fuzzing": {"raw", "gl-api-fuzzing-report.json"},
	"browser_performance": {"raw", "browser-performance.json"}, "cluster_image_scanning": {"raw", "gl-cluster-image-scanning-report.json"},
	"codequality": {"raw", "gl-code-quality-report.json"}, "container_scanning": {"raw", "gl-container-scanning-report.json"},
	"coverage_fuzzing": {"raw", "gl-coverage-fuzzing.json"}, "cyclonedx": {"gzip", "gl-sbom.cdx.json"}, "dast": {"raw", "gl-dast-report.json"},
	"dependency_scanning": {"raw", "gl-dependency-scanning-report.json"}, "dotenv": {"gzip", ".env"}, "junit": {"gzip", "junit.xml.gz"},
	"license_scanning": {"raw", "gl-license-scanning-report.json"}, "load_performance": {"raw", "load-performance.json"}, "lsif": {"zip", "lsif.json"},
	"metrics": {"gzip", "metrics.txt"}, "performance": {"raw", "performance.json"}, "repository_xray": {"gzip", "gl-repository-xray.json"},
	"requirements": {"raw", "requirements.json"}, "requirements_v2": {"raw", "requirements_v2.json"}, "sast": {"raw", "gl-sast-report.json"},
	"secret_detection": {"raw", "gl-secret-detection-report.json"}, "terraform": {"raw", "tfplan.json"},
}

// coverageTypes are the kinds that coverage_report has by its format.
var coverageTypes = map[string]ReportType{"cobertura": {"gzip", "cobertura-coverage.xml"}, "jacoco": {"gzip", "jacoco-coverage.xml"}}

// TypeOfReport finds a kind of reports by the name that runners know, such as junit or cobertura.
func TypeOfReport(name string) (ReportType, bool) {
	if t, ok := reportTypes[name]; ok {
		return t, true
	}
	t, ok := coverageTypes[name]
	return t, ok
}

func (b *builder) reports(where string, v *value) []Report {
	if !b.hash(where, v, append(slices.Collect(maps.Keys(reportTypes)), "coverage_report")...) {
		return nil
	}
	var out []Report
	for i, k := range v.keys {
		item := v.items[i]
		if item.isNull() {
			continue
		}
		if k.name == "coverage_report" {
			at := where + ":coverage_report"
			if b.hash(at, item, "coverage_format", "path") {
				format := b.oneOf(at+" coverage format", item.get("coverage_format"), slices.Sorted(maps.Keys(coverageTypes))...)
				out = append(out, Report{format, coverageTypes[format].Format, b.textOrTexts(at+" path", item.get("path"))})
			}
			continue
		}
		if paths := b.textOrTexts(where+" "+strings.ReplaceAll(k.name, "_", " "), item); paths != nil {
			out = append(out, Report{k.name, reportTypes[k.name].Format, paths})
		}
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Type < out[j].Type })
	return out
}
