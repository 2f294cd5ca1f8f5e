/** A span that has ended. */
export interface Span {
  /** 32 hexadecimal digits. */
  readonly traceId: string;
  /** 16 hexadecimal digits. */
  readonly spanId: string;
  /** Null: the span is the first of its trace. */
  readonly parentSpanId: string | null;
  readonly name: string;
  readonly kind: 'internal' | 'client' | 'producer';
  /** Unix ms. */
  readonly startMs: number;
  /** Unix ms. */
  readonly endMs: number;
  readonly attributes: SpanAttributes;
  readonly isError?: boolean;
  readonly links?: readonly SpanLink[];
  readonly tracestate?: string | undefined;
}

/** Never contain payloads, headers, secrets, or the path of a URL that may contain one. */
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
