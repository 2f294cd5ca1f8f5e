/** The request of an OTLP export, as JSON: ids in hexadecimal, times as decimal texts in nanoseconds, enums as numbers. */
import type { Span, SpanAttributes } from './span.js';

const KINDS = { internal: 1, client: 3, producer: 4 } as const satisfies Readonly<Record<Span['kind'], number>>;
const STATUS_ERROR = { code: 2 };
/** Number of decimal digits between a millisecond and a nanosecond. */
const NANOSECOND_DIGITS = 6;
/** Number of digits of a fraction of a millisecond that are kept. */
const FRACTION_DIGITS = 3;

/** Returns the decimal text of a time in nanoseconds. A number cannot represent it exactly. */
function nanoseconds(ms: number): string {
  const [integerPart = '0', fraction = ''] = ms.toFixed(FRACTION_DIGITS).split('.');
  return integerPart + fraction.padEnd(NANOSECOND_DIGITS, '0');
}

const anyValue = (value: string | number) =>
  typeof value === 'string' ? { stringValue: value } : { intValue: String(Math.round(value)) };

const attributesOf = (attributes: SpanAttributes) =>
  Object.entries(attributes).flatMap(([key, value]) => (value === undefined ? [] : [{ key, value: anyValue(value) }]));

const encodeSpan = ({ traceId, spanId, parentSpanId, name, kind, startMs, endMs, ...span }: Span) => ({
  traceId,
  spanId,
  ...(parentSpanId === null ? {} : { parentSpanId }),
  ...(span.tracestate === undefined ? {} : { traceState: span.tracestate }),
  name,
  kind: KINDS[kind],
  startTimeUnixNano: nanoseconds(startMs),
  endTimeUnixNano: nanoseconds(Math.max(startMs, endMs)),
  attributes: attributesOf(span.attributes),
  ...(span.links && span.links.length > 0
    ? { links: span.links.map((link) => ({ ...link, attributes: attributesOf(link.attributes) })) }
    : {}),
  ...(span.isError ? { status: STATUS_ERROR } : {}),
});

/** Returns the body of the request. `resource` contains the attributes of the service. */
export const encodeSpans = (spans: readonly Span[], resource: Readonly<Record<string, string>>): string =>
  JSON.stringify({
    resourceSpans: [
      {
        resource: { attributes: attributesOf(resource) },
        scopeSpans: [{ scope: { name: 'everstep' }, spans: spans.map(encodeSpan) }],
      },
    ],
  });
