package localcube_test

import "regexp"

// onPurpose is a group of exchanges (a pattern of their names) that the local
// Cube answers otherwise than Cube of May 2026 did: in what, and why.
type onPurpose struct {
	reason string
	names  string
	paths  string // pattern of what may differ; "" is anything
}

// matches reports whether a rule excuses a difference.
func (p onPurpose) matches(name, path string) bool {
	return fits(p.names, name) && (p.paths == "" || fits(p.paths, path))
}

func fits(pattern, text string) bool {
	return regexp.MustCompile("^(?:" + pattern + ")$").MatchString(text)
}

// differences lists them all, by reason.
func differences() []onPurpose {
	return []onPurpose{
		// What later versions do otherwise.
		{"0.7 lists jobs, aliases and names of templates", `cm\..*list.*|cm\.list\..*`, `body\.data\[\d+\]\.job_id`},
		{"0.7 lists jobs, aliases and names of templates", `api\.(empty\.)?templates.*`, `body(\[\d+\])?\.(aliases|jobID|names|public|networkType|allowInternetAccess|createdAt|imageInfo)`},
		{"0.7 tells when a sandbox ends, and nothing where it never does", `cm\.sandbox\.list\..*`, `body\.data\[\d+\]\.end_at`},
		{"0.7 tells when a sandbox ends, and nothing where it never does", `api\.(list|get).*`, `body(\[\d+\])?\.endAt`},
		{"0.7 tells the millicores", `api\.(list|get).*`, `body(\[\d+\])?\.cpuMilli`},
		{"0.7 does not count 49983 as a custom port", `cm\.from-image\.fault\.ports-3-custom-and-49983-and-49999`, ""},
		{"0.7 wants all else closed where domains are allowed", `cm\.from-image\.accepted\.cidr-domain`, ""},
		{"0.7 has aliases of templates", `cm\.from-image\.accepted\.unknown-fields|cm\.route\.alias|api\.route\.alias`, ""},
		{"0.7 has timeout and refresh", `cm\.route\.sandbox\.(timeout|refresh)|api\.(timeout|refreshes)(\.negative|\.3601|\.unknown|\.empty-object)?`, ""},
		{"0.7 has PUT network", `api\.route\.network`, ""},
		{"0.7 has real logs", `api\.logs.*`, ""},
		{"0.7 allows only /data/shared/ to be mounted", `(cm\.sandbox|api)\.create\.host-mount\.(outside-prefix|dotdot|root|duplicate-targets|unknown-keys)`, ""},
		{"0.7 has no /cubeapi/v1", `api\.health\.cubeapi-prefix|api\.cubeapi\..*`, ""},
		{"0.7 takes a bool for autoResume", `api\.create\.invalid\.autoresume-bool`, ""},
		{"0.7 knows no timeout below -1", `api\.create\.timeout-negative`, ""},
		{"0.7 gives a token where public traffic is off", `api\.create\.network-public-false`, `body\.trafficAccessToken`},
		{"0.7 needs no timeout to connect", `api\.connect\.empty-object`, ""},
		{"0.7 lists as many rows as limit says", `api\.list\.v2\.limit-[01]`, ""},
		{"0.7 makes templates from image alone", `api\.templates\.post\.(empty|no-template-id|blank|documented|with-source-image-ref)`, ""},
		{"0.7 says what a missing request id is instead of breaking down", `cm\.template\.redo\.no-requestid|cm\.from-image\.empty-object`, ""},

		// What the local Cube is or lacks.
		{"addresses are the Docker Engine's", `cm\.sandbox\..*`, `body(\.data\[\d+\])?\.(sandbox_ip|exposed_port_endpoint)`},
		{"it has one node, which cannot be registered, listed in full or die", `cm\.(empty\.nodes|empty\.internal-node|node\..*|listinventory.*|dead-node\..*|unhealthy\.info)`, ""},
		{"it has no snapshots, forks or volumes", `api\.route\.(snapshots|volumes|rollback|fork)|api\.snapshot.*|api\.create\.all-other-fields`, ""},
		{"it has no commands, commits or templates beside those from images in CubeMaster", `cm\.sandbox\.commit\..*|cm\.route\.sandbox\.exec|cm\.template\.create\.no-template-id`, ""},
		{"it enforces no L7 rules, and refuses them", `api\.create\.network-rules`, ""},
		{"it refuses CIDRs that cannot be enforced; the recording's node took all", `api\.create\.network-garbage-cidr`, ""},
		{"it pulls through the Engine's interface, not the docker command", `cm\.bad-ref-dash\.job\.2`, ""},
		{"it has no authentication unless a test wants it", `api\.auth\..*`, ""},
		{"its CubeAPI and CubeMaster are one process", `api\.(no-master|scripted)\..*`, ""},
		{"it decodes with another library, whose texts differ", `cm\..*(bad-json|size-text|ports-as-text|port-fraction|port-overflow|image-number|trailing-data)`, `body\..*`},

		// What the recording cannot be replayed with.
		{"the recorder let the node fail at this point", `(cm\.sandbox|api)\.create\.node-error|cm\.sandbox\.delete\.node-error|api\.delete\.not-normal|api\.connect\.busy|api\.resume\.busy|api\.pause\.node-fails|api\.get\.pausing`, ""},
		{"the redo was submitted by a step that is not recorded", `cm\.snapfail\.(redo\.job\.\d|info-after-redo)`, ""},
		{"the list has templates of steps that are not recorded", `cm\.list\.ready-and-failed`, ""},
		{"the body was not recorded", `cm\.from-image\.accepted\.cidr-9000-entries|api\.create\.too-big`, ""},
		{"the recording has the compressed bytes", `api\.list\.gzip`, ""},
	}
}

// sinceThen lists what differs besides where the local Cube speaks as 0.7 does,
// which is what it does unasked: faults make it speak as then.
func sinceThen() []onPurpose {
	const refusal = `status|body\.(code|message)`
	return []onPurpose{
		{"0.7 answers 404 where the template of a create is unknown", `api\.create\.(unknown-template|template-blank|invalid-but-accepted\.null-optionals)`, refusal},
		{"0.7.1 answers 400 to bad parameters of a create", `api\.create\.(template-empty|host-mount\.bad\..*)`, `status|body\.code`},
		{"0.7 answers 409 to a pause of what is paused", `api\.pause\.again`, refusal},
		{"0.7 answers 404 to pause and resume of what is unknown", `api\.(pause\.(unknown|with-body)|resume\.unknown)`, refusal},
		{"0.7 answers 404 to a delete of what is unknown", `api\.delete\.(unknown|with-body)`, `status|body`},
	}
}

// withKey lists what differs where the local Cube demands a key: it has one, and
// nobody whom it asks about others.
func withKey() []onPurpose {
	return []onPurpose{
		{"it asks no callback", `api\.auth\.callback-.*`, ""},
		{"it has one key, and it is k1", `api\.auth\.bearer-empty-and-key`, ""},
		{"it does not limit the rate", `api\.auth\.rate-limited.*`, ""},
	}
}
