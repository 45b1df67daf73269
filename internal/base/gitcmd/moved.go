package gitcmd

import "tenon/internal/base/gitstore"

// These names moved to package gitstore, which has their documentation.
type (
	ObjectID    = gitstore.ObjectID
	Kind        = gitstore.Kind
	Info        = gitstore.Info
	RefName     = gitstore.RefName
	Commit      = gitstore.Commit
	Tag         = gitstore.Tag
	Signature   = gitstore.Signature
	Mode        = gitstore.Mode
	TreeEntry   = gitstore.TreeEntry
	Tree        = gitstore.Tree
	Trailer     = gitstore.Trailer
	RefUpdate   = gitstore.RefUpdate
	Ref         = gitstore.Ref
	Health      = gitstore.Health
	Graph       = gitstore.Graph
	Bitmap      = gitstore.Bitmap
	MultiPack   = gitstore.MultiPack
	Storage     = gitstore.Storage
	TreeChange  = gitstore.TreeChange
	CommitInput = gitstore.CommitInput
	TagInput    = gitstore.TagInput
	Signed      = gitstore.Signed
)

// These constants moved to package gitstore.
const (
	KindBlob       = gitstore.KindBlob
	KindTree       = gitstore.KindTree
	KindCommit     = gitstore.KindCommit
	KindTag        = gitstore.KindTag
	HEAD           = gitstore.HEAD
	Branches       = gitstore.Branches
	Tags           = gitstore.Tags
	ModeFile       = gitstore.ModeFile
	ModeExecutable = gitstore.ModeExecutable
	ModeSymlink    = gitstore.ModeSymlink
	ModeSubmodule  = gitstore.ModeSubmodule
	ModeTree       = gitstore.ModeTree
)

// These functions and errors moved to package gitstore.
var (
	ParseObjectID   = gitstore.ParseObjectID
	EmptyTree       = gitstore.EmptyTree
	ParseRefName    = gitstore.ParseRefName
	BranchRef       = gitstore.BranchRef
	TagRef          = gitstore.TagRef
	ValidBranchName = gitstore.ValidBranchName
	ValidTagName    = gitstore.ValidTagName
	LooksLikeID     = gitstore.LooksLikeID
	ParseCommit     = gitstore.ParseCommit
	ParseTag        = gitstore.ParseTag
	ParseTree       = gitstore.ParseTree
	Trailers        = gitstore.Trailers
	ValidPath       = gitstore.ValidPath
	CleanPath       = gitstore.CleanPath
	ErrBadName      = gitstore.ErrBadName
	ErrNotFound     = gitstore.ErrNotFound
	ErrWrongKind    = gitstore.ErrWrongKind
	ErrTooLarge     = gitstore.ErrTooLarge
	ErrAmbiguous    = gitstore.ErrAmbiguous
	ErrRefMoved     = gitstore.ErrRefMoved
	ErrRefConflict  = gitstore.ErrRefConflict
	ErrPathConflict = gitstore.ErrPathConflict
	ErrExists       = gitstore.ErrExists
)
