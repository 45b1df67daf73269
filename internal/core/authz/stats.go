package authz

// ReadDORAMetrics is the ability on the DORA metrics of projects and groups.
const ReadDORAMetrics Ability = "read_dora_metrics"

// statsRules are those of the abilities on figures.
var statsRules = map[Ability]Rule{
	ReadDORAMetrics: {Min: Reporter},
}
