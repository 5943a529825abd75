"""What agents tell by OpenTelemetry: the receiver of their spans, and how these join the turns of a conversation."""
