package sshdial

import "slices"

// lookUp finds a keyword of OpenSSH's ssh_config(5), from 7 to 10, by its name
// in lower case.
func lookUp(name string) (directive, bool) {
	if d, ok := directives[name]; ok {
		return d, true
	}
	switch {
	case slices.Contains(harmlessNames, name):
		return directive{effect: harmless, rest: true}, true
	case slices.Contains(changingNames, name):
		return directive{effect: changing, rest: true, same: oneOf("none")}, true
	}
	return directive{}, false
}

var directives = map[string]directive{
	"host": {list: true}, "match": {list: true}, "include": {list: true},

	"addressfamily":            {check: oneOf("any", "inet", "inet6")},
	"batchmode":                {check: isFlag},
	"bindaddress":              {check: isText},
	"certificatefile":          {many: true, check: isText},
	"connecttimeout":           {check: isTime},
	"globalknownhostsfile":     {list: true, check: isText},
	"hostkeyalias":             {check: isText},
	"hostname":                 {check: isText},
	"casignaturealgorithms":    {check: isText},
	"ciphers":                  {check: isText},
	"hostkeyalgorithms":        {check: isText},
	"kexalgorithms":            {check: isText},
	"macs":                     {check: isText},
	"pubkeyacceptedalgorithms": {check: isText},
	"pubkeyacceptedkeytypes":   {check: isText, as: "pubkeyacceptedalgorithms"},
	"requiredrsasize":          {check: isCount},
	"identitiesonly":           {check: isFlag},
	"identityagent":            {check: isText},
	"identityfile":             {many: true, check: isText},
	"identityfile2":            {many: true, check: isText, as: "identityfile"},
	"ignoreunknown":            {check: isText},
	"port":                     {check: isPort},
	"proxyjump":                {check: isJump},
	"serveralivecountmax":      {check: isCount},
	"serveraliveinterval":      {check: isTime},
	"stricthostkeychecking":    {check: oneOf("yes", "no", "true", "false", "ask", "off", "accept-new")},
	"user":                     {check: isText},
	"userknownhostsfile":       {list: true, check: isText},

	"canonicalizehostname":     {effect: changing, same: oneOf("no", "false")},
	"checkhostip":              {effect: changing, same: oneOf("no", "false")},
	"forkafterauthentication":  {effect: changing, same: oneOf("no", "false")},
	"preferredauthentications": {effect: changing, same: hasPublicKey},
	"proxycommand":             {effect: changing, rest: true, same: oneOf("none")},
	"pubkeyauthentication":     {effect: changing, same: oneOf("yes", "true", "unbound", "host-bound")},
	"remotecommand":            {effect: changing, rest: true, same: oneOf("none")},
	"sessiontype":              {effect: changing, same: oneOf("default")},
	"stdinnull":                {effect: changing, same: oneOf("no", "false")},
	"protocol":                 {effect: changing, same: oneOf("2", "2,1")},
}

// harmlessNames change what a terminal shows, what is forwarded, what OpenSSH
// writes or how it shares connections, or make it laxer than this package is.
// Variables are not sent (SendEnv, SetEnv): servers take those they were told
// to take, and commands here do not rely on any.
var harmlessNames = []string{
	"addkeystoagent", "afstokenpassing", "canonicaldomains", "canonicalizefallbacklocal", "canonicalizemaxdots",
	"canonicalizepermittedcnames", "challengeresponseauthentication", "channeltimeout", "cipher", "clearallforwardings",
	"compression", "compressionlevel", "connectionattempts", "controlmaster", "controlpath", "controlpersist", "dsaauthentication",
	"dynamicforward", "enableescapecommandline", "enablesshkeysign", "escapechar", "exitonforwardfailure",
	"fallbacktorsh", "fingerprinthash", "forwardagent", "forwardx11", "forwardx11timeout", "forwardx11trusted",
	"gatewayports", "globalknownhostsfile2", "gssapiauthentication", "gssapiclientidentity", "gssapidelegatecredentials",
	"gssapikexalgorithms", "gssapikeyexchange", "gssapirenewalforcesrekey", "gssapiserveridentity", "gssapitrustdns",
	"hashknownhosts", "hostbasedacceptedalgorithms", "hostbasedauthentication", "hostbasedkeytypes", "ipqos",
	"kbdinteractiveauthentication", "kbdinteractivedevices", "keepalive", "kerberosauthentication", "kerberostgtpassing", "localcommand", "localforward",
	"loglevel", "logverbose", "nohostauthenticationforlocalhost", "numberofpasswordprompts", "obscurekeystroketiming",
	"passwordauthentication", "permitlocalcommand", "permitremoteopen", "protocolkeepalives", "proxyusefdpass", "rekeylimit",
	"remoteforward", "requesttty", "rhostsauthentication", "rhostsrsaauthentication", "rsaauthentication", "sendenv", "setenv", "setuptimeout", "skeyauthentication",
	"streamlocalbindmask", "streamlocalbindunlink", "syslogfacility", "tag", "tcpkeepalive", "tisauthentication", "tunnel",
	"tunneldevice", "updatehostkeys", "useblacklistedkeys", "usekeychain", "useprivilegedport", "userknownhostsfile2", "useroaming", "usersh", "verifyhostkeydns",
	"versionaddendum", "visualhostkey", "warnweakcrypto", "xauthlocation",
}

// changingNames choose other ways or keys than this package would.
var changingNames = []string{
	"bindinterface", "knownhostscommand", "pkcs11provider", "revokedhostkeys", "securitykeyprovider", "smartcarddevice",
}
