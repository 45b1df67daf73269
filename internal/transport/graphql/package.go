package graphql

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"tenon/internal/base/page"
	"tenon/internal/core"
	"tenon/internal/core/authz"
	"tenon/internal/core/namespace"
	"tenon/internal/core/packages"
	"tenon/internal/core/packages/maven"
	"tenon/internal/core/packages/npm"
	"tenon/internal/core/packages/pypi"
	"tenon/internal/core/project"
	"tenon/internal/transport/graphql/exec"
)

// maxPackagePipelines is how many pipelines of a package a page has.
const maxPackagePipelines = 20

// packageTypes are the types that a package has: in lists, as another version, and alone.
var packageTypes = []string{"Package", "PackageBase", "PackageDetailsType"}

// packageLinks are the addresses of a package.
type packageLinks struct{ WebPath string }

// packagePermissions is what the caller may do with a package.
type packagePermissions struct{ DestroyPackage bool }

// mavenPackage is a Maven package, for its coordinates.
type mavenPackage struct{ *packages.View }

// pypiPackage is what a Python package says of itself.
type pypiPackage struct {
	*pypi.Described

	of packages.ID
}

// dependency is what a version of an npm package needs.
type dependency struct {
	npm.Dependency

	of packages.ID
	at int // in the list of dependencies
}

// registry returns the service of packages.
func (b *binder) registry() *packages.Service { return core.Part[*packages.Service](b.Services) }

// packageFilter is the arguments of lists of packages.
type packageFilter struct {
	paging
	IncludeVersionless                     *bool
	PackageName, PackageType, Status, Sort *string
	PackageVersion                         *string
}

// filter makes the filter of core.
func (f *packageFilter) filter(r page.Range) packages.Filter {
	by, asc := page.Sorted(zeroOr(f.Sort))
	return packages.Filter{
		Kind: packages.Kind(strings.ToLower(zeroOr(f.PackageType))), Name: zeroOr(f.PackageName), Version: f.PackageVersion,
		Versionless: zeroOr(f.IncludeVersionless), Status: packages.Status(strings.ToLower(zeroOr(f.Status))), OrderBy: by, Desc: !asc, Range: r,
	}
}

// packageViews returns packages as the caller sees them: nil where the project is gone. Projects are those that were read before; nil reads them.
func (b *binder) packageViews(as authz.Actor, projects map[project.ID]*project.Project) func(ctx context.Context, rows []packages.Package) ([]*packages.View, error) {
	return func(ctx context.Context, rows []packages.Package) ([]*packages.View, error) {
		views, err := b.registry().Views(ctx, as, rows, packages.ViewOptions{Projects: projects})
		ids := make([]packages.ID, len(rows))
		for i := range rows {
			ids[i] = rows[i].ID
		}
		return aligned(ids, views, func(v *packages.View) packages.ID { return v.ID }), err
	}
}

// packages binds packages of projects and groups.
func (b *binder) packages() {
	exec.Batch(b.Schema, "Project.packages", func(ctx context.Context, c *exec.Call[packageFilter], of []*project.Project) ([]*exec.Page[*packages.View], error) {
		known := make(map[project.ID]*project.Project, len(of))
		for _, p := range of {
			known[p.ID] = p
		}
		return lists(ctx, part(b, c, c.Args.paging, maxPage), of, func(ctx context.Context, p *project.Project, r page.Range) (page.Page[packages.Package], error) {
			return b.registry().List(ctx, c.As, p, c.Args.filter(r))
		}, b.packageViews(c.As, known))
	})
	exec.Batch(b.Schema, "Group.packages", func(ctx context.Context, c *exec.Call[packageFilter], of []*namespace.Group) ([]*exec.Page[*packages.View], error) {
		return lists(ctx, part(b, c, c.Args.paging, maxPage), of, func(ctx context.Context, g *namespace.Group, r page.Range) (page.Page[packages.Package], error) {
			return b.registry().ListOfGroup(ctx, c.As, g.Place(), c.Args.filter(r))
		}, b.packageViews(c.As, nil))
	})
	exec.Root(b.Schema, "package", func(ctx context.Context, c *exec.Call[struct{ ID globalID }]) (*packages.View, error) {
		return byID(ctx, c.As, c.Args.ID, b.registry().ByIDs)
	})
	for _, typ := range packageTypes {
		b.packageFields(typ)
	}
	for _, typ := range []string{"Package", "PackageDetailsType"} {
		exec.Batch(b.Schema, typ+".pipelines", func(ctx context.Context, c *exec.Call[paging], of []*packages.View) ([]*exec.Page[*pipeline], error) {
			return lists(ctx, part(b, c, c.Args, maxPackagePipelines), of, func(ctx context.Context, v *packages.View, r page.Range) (page.Page[*pipeline], error) {
				list, err := b.registry().Pipelines(ctx, c.As, v.Project, v.ID, r)
				return in(v.Project, list), err
			}, same)
		})
	}
	exec.Connection[*packages.View](b.Schema, "Package")
	exec.Connection[*packages.View](b.Schema, "PackageBase")
	exec.Struct[packageLinks](b.Schema, "PackageLinks")
	exec.Struct[packagePermissions](b.Schema, "PackagePermissions")
	b.packageDetails()
	b.packageFiles()
	b.packageMetadata()
	b.packageMutations()
}

// packageFields binds what all types of packages have.
func (b *binder) packageFields(typ string) {
	value(b, typ+".id", func(v *packages.View) string { return gid("Packages::Package", v.ID) })
	value(b, typ+".name", func(v *packages.View) string { return v.Name })
	value(b, typ+".version", func(v *packages.View) *string { return v.Version })
	value(b, typ+".packageType", func(v *packages.View) string { return strings.ToUpper(string(v.Kind)) })
	value(b, typ+".status", func(v *packages.View) string { return strings.ToUpper(string(v.Status)) })
	value(b, typ+".statusMessage", func(v *packages.View) *string { return v.StatusMessage })
	value(b, typ+".createdAt", func(v *packages.View) time.Time { return v.CreatedAt.Time })
	value(b, typ+".updatedAt", func(v *packages.View) time.Time { return v.UpdatedAt.Time })
	value(b, typ+".project", func(v *packages.View) *project.Project { return v.Project })
	value(b, typ+".canDestroy", func(v *packages.View) bool { return v.Deletes })
	value(b, typ+".userPermissions", func(v *packages.View) packagePermissions { return packagePermissions{v.Deletes} })
	value(b, typ+"._links", func(v *packages.View) packageLinks {
		return packageLinks{b.URLs.Path(b.URLs.Package(v.Project.FullPath, int64(v.ID)))}
	})
	exec.Batch(b.Schema, typ+".tags", func(ctx context.Context, c *exec.Call[paging], of []*packages.View) ([]*exec.Page[*packages.Tag], error) {
		tags, err := exec.LoadEach(ctx, c, "tags of packages", of, packageID, b.registry().Tags)
		if err != nil {
			return nil, err
		}
		out := make([]*exec.Page[*packages.Tag], len(of))
		for i := range of {
			if out[i], err = listOf(c.Args, maxPage, pointers(tags[i])); err != nil {
				return nil, err
			}
		}
		return out, nil
	})
	exec.Batch(b.Schema, typ+".metadata", func(ctx context.Context, c *exec.Call[exec.None], of []*packages.View) ([]any, error) {
		described, err := exec.LoadEach(ctx, c, "descriptions of Python packages", of, func(v *packages.View) packages.ID {
			if v.Kind != packages.PyPI {
				return 0
			}
			return v.ID
		}, core.Part[*pypi.Service](b.Services).Described)
		out := make([]any, len(of))
		for i, v := range of {
			switch {
			case v.Kind == packages.Maven:
				out[i] = mavenPackage{v}
			case err == nil && described[i] != nil:
				out[i] = pypiPackage{described[i], v.ID}
			}
		}
		return out, err
	})
}

func packageID(v *packages.View) packages.ID { return v.ID }

// packageDetails binds what a package has when it is read alone.
func (b *binder) packageDetails() {
	const typ = "PackageDetailsType"
	value(b, typ+".lastDownloadedAt", func(v *packages.View) *time.Time { return v.LastDownloadedAt.Ptr() })
	value(b, typ+".publicPackage", func(v *packages.View) bool { return v.Open })
	for field, path := range map[string]string{"mavenUrl": "maven", "npmUrl": "npm", "pypiSetupUrl": "pypi", "pypiUrl": "pypi/simple"} {
		value(b, typ+"."+field, func(v *packages.View) string {
			return b.URLs.API("projects", strconv.FormatInt(int64(v.ProjectID), 10), "packages", path)
		})
	}
	exec.Batch(b.Schema, typ+".versions", func(ctx context.Context, c *exec.Call[paging], of []*packages.View) ([]*exec.Page[*packages.View], error) {
		known := make(map[project.ID]*project.Project, len(of))
		for _, v := range of {
			known[v.ProjectID] = v.Project
		}
		return lists(ctx, part(b, c, c.Args, maxPage), of, func(ctx context.Context, v *packages.View, r page.Range) (page.Page[packages.Package], error) {
			return b.registry().Versions(ctx, &v.Package, r)
		}, b.packageViews(c.As, known))
	})
	exec.Batch(b.Schema, typ+".dependencyLinks", func(ctx context.Context, c *exec.Call[paging], of []*packages.View) ([]*exec.Page[*dependency], error) {
		needs, err := exec.LoadEach(ctx, c, "dependencies of packages", of, packageID, core.Part[*npm.Service](b.Services).Dependencies)
		if err != nil {
			return nil, err
		}
		out := make([]*exec.Page[*dependency], len(of))
		for i, v := range of {
			list := make([]*dependency, len(needs[i]))
			for n := range needs[i] {
				list[n] = &dependency{needs[i][n], v.ID, n + 1}
			}
			if out[i], err = listOf(c.Args, maxPage, list); err != nil {
				return nil, err
			}
		}
		return out, nil
	})
	number := func(d *dependency) string { return fmt.Sprintf("%d-%d", d.of, d.at) }
	value(b, "PackageDependencyLink.id", func(d *dependency) string { return gid("Packages::DependencyLink", number(d)) })
	value(b, "PackageDependencyLink.dependencyType", func(d *dependency) string { return d.Kind })
	value(b, "PackageDependencyLink.dependency", func(d *dependency) *dependency { return d })
	value(b, "PackageDependency.id", func(d *dependency) string { return gid("Packages::Dependency", number(d)) })
	value(b, "PackageDependency.name", func(d *dependency) string { return d.Name })
	value(b, "PackageDependency.versionPattern", func(d *dependency) string { return d.Versions })
	exec.Connection[*dependency](b.Schema, "PackageDependencyLink")
}

// packageFiles binds files and tags of packages.
func (b *binder) packageFiles() {
	exec.Batch(b.Schema, "PackageDetailsType.packageFiles", func(ctx context.Context, c *exec.Call[paging], of []*packages.View) ([]*exec.Page[*packages.PlacedFile], error) {
		return lists(ctx, part(b, c, c.Args, maxPage), of, func(ctx context.Context, v *packages.View, r page.Range) (page.Page[*packages.PlacedFile], error) {
			list, err := b.registry().FilesOf(ctx, v.ID, packages.FileFilter{Range: r})
			return page.Map(list, func(f *packages.File) *packages.PlacedFile { return &packages.PlacedFile{File: *f, Of: v} }), err
		}, same)
	})
	value(b, "PackageFile.id", func(f *packages.PlacedFile) string { return gid("Packages::PackageFile", f.ID) })
	value(b, "PackageFile.fileName", func(f *packages.PlacedFile) string { return f.Name })
	value(b, "PackageFile.size", func(f *packages.PlacedFile) string { return strconv.FormatInt(f.Size, 10) })
	value(b, "PackageFile.fileMd5", func(f *packages.PlacedFile) string { return f.MD5 })
	value(b, "PackageFile.fileSha1", func(f *packages.PlacedFile) string { return f.SHA1 })
	value(b, "PackageFile.fileSha256", func(f *packages.PlacedFile) string { return f.SHA256 })
	value(b, "PackageFile.createdAt", func(f *packages.PlacedFile) time.Time { return f.CreatedAt.Time })
	value(b, "PackageFile.updatedAt", func(f *packages.PlacedFile) time.Time { return f.UpdatedAt.Time })
	value(b, "PackageFile.downloadPath", func(f *packages.PlacedFile) string {
		return b.URLs.Path(b.URLs.API(fmt.Sprintf("projects/%d/packages/%d/package_files/%d/download", f.ProjectID, f.PackageID, f.ID)))
	})
	exec.Connection[*packages.PlacedFile](b.Schema, "PackageFile")
	value(b, "PackageTag.id", func(t *packages.Tag) string { return gid("Packages::Tag", t.ID) })
	value(b, "PackageTag.name", func(t *packages.Tag) string { return t.Name })
	value(b, "PackageTag.createdAt", func(t *packages.Tag) time.Time { return t.CreatedAt.Time })
	value(b, "PackageTag.updatedAt", func(t *packages.Tag) time.Time { return t.UpdatedAt.Time })
	exec.Connection[*packages.Tag](b.Schema, "PackageTag")
}

// packageMetadata binds what formats say of packages.
func (b *binder) packageMetadata() {
	value(b, "MavenMetadata.id", func(k mavenPackage) string { return gid("Packages::Maven::Metadatum", k.ID) })
	value(b, "MavenMetadata.appGroup", func(k mavenPackage) string { return maven.CoordinatesOf(&k.Package).Group })
	value(b, "MavenMetadata.appName", func(k mavenPackage) string { return maven.CoordinatesOf(&k.Package).Artifact })
	value(b, "MavenMetadata.appVersion", func(k mavenPackage) *string { return k.Version })
	value(b, "MavenMetadata.path", func(k mavenPackage) string { return maven.CoordinatesOf(&k.Package).Path })
	value(b, "MavenMetadata.createdAt", func(k mavenPackage) time.Time { return k.CreatedAt.Time })
	value(b, "MavenMetadata.updatedAt", func(k mavenPackage) time.Time { return k.UpdatedAt.Time })
	value(b, "PypiMetadata.id", func(k pypiPackage) string { return gid("Packages::Pypi::Metadatum", k.of) })
	for field, of := range map[string]func(d *pypi.Described) string{
		"requiredPython": func(d *pypi.Described) string { return d.RequiresPython }, "summary": func(d *pypi.Described) string { return d.Summary },
		"keywords": func(d *pypi.Described) string { return d.Keywords }, "authorEmail": func(d *pypi.Described) string { return d.AuthorEmail },
		"metadataVersion": func(d *pypi.Described) string { return d.MetadataVersion }, "description": func(d *pypi.Described) string { return d.Description },
		"descriptionContentType": func(d *pypi.Described) string { return d.DescriptionContentType },
	} {
		value(b, "PypiMetadata."+field, func(k pypiPackage) *string { return text(of(k.Described)) })
	}
}
