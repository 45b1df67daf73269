package epic

import "tenon/internal/core/tree"

// Writers says how epics are imported.
func (s *Service) Writers() []tree.Writer { return append(s.groupWriters(), s.issueWriters()...) }
