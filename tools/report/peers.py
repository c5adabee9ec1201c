"""What stands between clients and provider, in the order of the tables."""

# Name in the simulator, name in the tables, what it is.
PEERS = [
    ("weir", "Weir", "as it is by default: told nothing about the provider"),
    ("none", "No protection", "every call goes out at once, a refusal is the client's answer"),
    ("sdk", "OpenAI SDK", "no proxy; clients retry twice, 0.5 to 8 s apart"),
    ("envoy-retry", "Envoy retry", "Envoy's retries with rate_limited_retry_back_off, as documented"),
    ("envoy-retry-hard", "Envoy retry, hard", "the same, as often as clients have patience for"),
    ("adaptive-concurrency", "Adaptive concurrency", "Envoy's filter: a cap by latency"),
    ("local-ratelimit", "Local ratelimit", "Envoy's filter, tuned to the provider: refuses what is over the rate"),
    ("leaky-bucket", "Leaky bucket, tuned", "a queue with a fixed rate, tuned to the provider"),
    ("leaky-bucket-half", "Leaky bucket, half", "the same at half the right rate"),
    ("leaky-bucket-double", "Leaky bucket, double", "the same at twice the right rate"),
    ("aws-adaptive", "AWS adaptive mode", "the AWS SDKs' client-side limiter: CUBIC by throttles"),
    ("gradient2", "Netflix Gradient2", "a cap by latency"),
    ("netflix-aimd", "Netflix AIMD", "a cap that rises by one and falls by a tenth"),
    ("deer-flow", "deer-flow", "a tuned cap, retries with decorrelated jitter"),
    ("aimd", "AIMD", "a rate that rises by a step and falls by half, over a queue"),
    ("gentle-prober", "Gentle prober", "a rate that rises slowly and falls a little"),
]
NAMES = [name for name, _, _ in PEERS]
LABELS = {name: label for name, label, _ in PEERS}
ABOUT = {name: about for name, _, about in PEERS}
