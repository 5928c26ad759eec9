"""Regular expressions in Rust's syntax that match passwords, keys and tokens."""

DETECT_SECRETS = (
    r"AKC[a-zA-Z0-9]{10,}",  # Artifactory
    r"(?:A3T[A-Z0-9]|ABIA|ACCA|AKIA|ASIA)[0-9A-Z]{16}",  # AWS
    r"gh[pousr]_[A-Za-z0-9_]{36}",  # GitHub
    r"(?:glpat|gldt|glft|glsoat|glrt)-[A-Za-z0-9_\-]{20,50}",  # GitLab, as are the next six
    r"GR1348941[A-Za-z0-9_\-]{20,50}",
    r"glcbt-(?:[0-9a-fA-F]{2}_)?[A-Za-z0-9_\-]{20,50}",
    r"glimt-[A-Za-z0-9_\-]{25}",
    r"glptt-[A-Za-z0-9_\-]{40}",
    r"glagent-[A-Za-z0-9_\-]{50,1000}",
    r"gloas-[A-Za-z0-9_\-]{64}",
    r"[0-9a-z]{32}-us[0-9]{1,2}",  # Mailchimp
    r"sk-[A-Za-z0-9_-]*[A-Za-z0-9]{20}T3BlbkFJ[A-Za-z0-9]{20}",  # OpenAI
    r"pypi-AgEIcHlwaS5vcmc[A-Za-z0-9_-]{70,}",  # PyPI, and its test instance
    r"pypi-AgENdGVzdC5weXBpLm9yZw[A-Za-z0-9_-]{70,}",
    r"SG\.[a-zA-Z0-9_-]{22}\.[a-zA-Z0-9_-]{43}",  # SendGrid
    r"xox(?:a|b|p|o|s|r)-(?:[0-9]+-)+[A-Za-z0-9]+",  # Slack
    r"sq0csp-[0-9A-Za-z\\_-]{43}",  # Square
    r"[rs]k_live_[0-9a-zA-Z]{24}",  # Stripe
)
"""Patterns of the plugins of detect-secrets 1.5.0."""
ISSUED = (
    r"(?:AROA|AIDA)[0-9A-Z]{16}",
    r"AIza[A-Za-z0-9_-]{30,}",
    r"ya29\.[A-Za-z0-9_-]{16,}",
    r"[A-Za-z0-9_~.-]{3}8Q~[A-Za-z0-9_~.-]{31,}",
    r"gh[pousr]_[A-Za-z0-9]{16,}",
    r"github_pat_[A-Za-z0-9_]{16,}",
    r"glpat-[A-Za-z0-9_-]{16,}",
    r"hf_[A-Za-z0-9]{20,}",
    r"sk-(?:[a-z0-9]+-){0,3}[A-Za-z0-9_]{16,}",
    r"xox[abeprs]-[A-Za-z0-9_-]{10,}",
    r"nvapi-[A-Za-z0-9_-]{16,}",
    r"(?:sk|rk|pk)_(?:live|test)_[0-9a-zA-Z]{10,}",
    r"npm_[A-Za-z0-9]{20,}",
    r"pypi-[A-Za-z0-9_]{16,}[A-Za-z0-9_-]*",
    r"SG\.[A-Za-z0-9_-]{12,}\.[A-Za-z0-9_-]{12,}",
    r"dapi[0-9a-f]{20,}(?:-[0-9])?",
    r"dckr_[po]at_[A-Za-z0-9_-]{16,}",
    r"eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?",
)
WORD_BEFORE = r"(^|[^A-Za-z0-9])"
KEY = (
    r"password|passwd|passphrase|secret|api[_-]?key|access[_-]?key(?:[_-]?id)?|account[_-]?key"
    r"|private[_-]?key"
)
_QUOTES = r"[\"'\\]*"
SECRETS = (
    # In an address, the user and password before the host; a password may contain slashes.
    (r"(://)[^\s/@\"'<>]+@", "$1…@"),
    (
        r"(://)[^\s/@:\"'<>]*:(?:[^\s@\"'<>/0-9]|[0-9]+[^\s@\"'<>/0-9])[^\s@\"'<>]*@",
        "$1…@",
    ),
    (r"(?i)(://hooks\.slack\.com/(?:services|workflows)/)[^\s\"'<>]+", "$1…"),
    (
        rf"(?i)((?:{KEY}){_QUOTES}\s*[=:]\s*{_QUOTES})[^\s\"'\\,;&()\[\]{{}}:=][^\s\"'\\,;&)]*",
        "$1…",
    ),
    (
        (
            rf"(?i)((?:^|[^a-z])token{_QUOTES}\s*[=:]\s*{_QUOTES})"
            r"[^\s\"'\\,;&():=]*[a-z][^\s\"'\\,;&)]*"
        ),
        "$1…",
    ),
    (
        rf"(?i)((?:^|\s)--?(?:[a-z0-9]+[_-])*(?:{KEY})\s+[\"']?)[^\s\"'-][^\s\"']*",
        "$1…",
    ),
    (
        r"(?i)((?:^|\s)--?(?:[a-z0-9]+[_-])*token\s+[\"']?)[^\s\"'-]*[a-z][^\s\"']*",
        "$1…",
    ),
    (r"(?i)([?&](?:sig|signature|x-amz-signature)=)[^\s\"'&]+", "$1…"),
    (
        (
            rf"(?i)(authorization{_QUOTES}\s*[=:]\s*{_QUOTES}(?:basic|digest|negotiate|token)\s+)"
            r"[^\s\"'\\,;]+"
        ),
        "$1…",
    ),
    (rf"(?i){WORD_BEFORE}(bearer\s+)[A-Za-z0-9._~+/=-]{{8,}}", "$1$2…"),
    (rf"(?i)((?:^|[^a-z])cookie{_QUOTES}\s*:\s*{_QUOTES})[^\s:\"'\\][^\"'\\\r\n]*", "$1…"),
    *((f"{WORD_BEFORE}{pattern}", "$1…") for pattern in (*DETECT_SECRETS, *ISSUED)),
    (r"-----BEGIN [A-Z ]*PRIVATE KEY-----[^\"']*", "…"),
)
MAY_BE_SECRET = (
    rf"://|(?i:{KEY}|token|bearer|cookie|authorization|[?&](?:x-amz-)?sig|-us[0-9])|AKC|A3T|AKIA"
    r"|ASIA|ABIA|ACCA|AROA|AIDA|AIza|ya29|8Q~|gh[pousr]_|github_pat_|gl[a-z]+-|GR1348941|hf_|sk-"
    r"|xox[abeoprs]-|nvapi-|[rsp]k_(?:live|test)_|npm_|pypi-|SG\.|dapi|dckr_|sq0csp-|eyJ|PRIVATE KEY"
)
"""Matches every text with a secret, so that texts without a match need no other pattern."""
