package repo

import (
	"context"
	"fmt"
	"regexp"
	"slices"

	"tenon/internal/base/gitcmd"
	"tenon/internal/base/gitstore"
	"tenon/internal/base/license"
	"tenon/internal/base/pattern"
)

// licenseNames match files that hold the license of a project, the likeliest first.
var licenseNames = []func() *regexp.Regexp{
	pattern.New(`(?i)^licen[sc]e(\.(md|markdown|txt|rst|html))?$`),
	pattern.New(`(?i)^copying(\.(md|markdown|txt|rst|lesser))?$`),
	pattern.New(`(?i)^unlicen[sc]e(\.(md|txt))?$`),
	pattern.New(`(?i)^(mit|apache|gpl|bsd)?[-_]?licen[sc]e[-_.].*$`),
}

// maxLicense bounds the text that is compared with known licenses.
const maxLicense = 256 << 10

// licenseOf finds the file with the license of a project and which one it is; both are
// "" where there is none.
func licenseOf(ctx context.Context, r *gitcmd.Repo, root []gitcmd.PathEntry) (path, key string, err error) {
	for _, name := range licenseNames {
		i := slices.IndexFunc(root, func(e gitcmd.PathEntry) bool {
			return (e.Mode == gitstore.ModeFile || e.Mode == gitstore.ModeExecutable) && name().MatchString(e.Path)
		})
		if i < 0 {
			continue
		}
		info, err := r.Info(ctx, root[i].ID)
		if err != nil {
			return "", "", fmt.Errorf("read license: %w", err)
		}
		if info.Size > maxLicense {
			return root[i].Path, license.Other, nil
		}
		text, err := r.Blob(ctx, root[i].ID, maxLicense)
		if err != nil {
			return "", "", fmt.Errorf("read license: %w", err)
		}
		key, err := license.Detect(text)
		if err != nil {
			return "", "", fmt.Errorf("recognise license: %w", err)
		}
		return root[i].Path, key, nil
	}
	return "", "", nil
}
