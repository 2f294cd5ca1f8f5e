/** A span that has ended. */
export interface Span {
  /** Id of the trace, 32 hexadecimal digits. */
  readonly traceId: string;
  /** Id of the span, 16 hexadecimal digits. */
  readonly spanId: string;
  /** Id of the parent; null if the span is the first of its trace. */
  readonly parentSpanId: string | null;
  readonly name: string;
  readonly kind: 'internal' | 'client' | 'producer';
  /** Time when the span started, Unix ms. */
  readonly startMs: number;
  /** Time when the span ended, Unix ms. */
  readonly endMs: number;
  readonly attributes: SpanAttributes;
  readonly isError?: boolean;
  readonly links?: readonly SpanLink[];
  readonly tracestate?: string | undefined;
}

/** Attributes of a span. They never contain payloads, headers, secrets, or the path of a URL that may contain one. */
export type SpanAttributes = Readonly<Record<string, string | number | undefined>>;

/** Another span that led to this one without being its parent. */
export interface SpanLink {
  readonly traceId: string;
  readonly spanId: string;
  readonly attributes: SpanAttributes;
}

/** Receives spans. Never throws. */
export interface SpanSink {
  add(span: Span): void;
}
