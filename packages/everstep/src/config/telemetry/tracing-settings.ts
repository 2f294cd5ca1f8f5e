/** Settings for the export of traces, which are the standard environment variables of OpenTelemetry SDKs. */

export const SAMPLERS = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const;
export type SamplerName = (typeof SAMPLERS)[number];

/** Destination and options of the export of spans. */
export interface TracingSettings {
  /** URL that receives the spans (OTLP over HTTP, as JSON). */
  readonly url: string;
  /** Additional headers, which can contain a token. */
  readonly headers: Readonly<Record<string, string>>;
  /** Maximum time to export a batch, with all attempts. */
  readonly timeoutMs: number;
  readonly isCompressed: boolean;
  /** Resource attributes of the server, such as `service.name`. */
  readonly resource: Readonly<Record<string, string>>;
  readonly sampler: SamplerName;
  /** Share of the traces that are sampled, from 0 to 1, for the samplers with a ratio. */
  readonly ratio: number;
  readonly maxQueuedSpans: number;
  readonly maxBatchSpans: number;
  /** Maximum time before a batch is exported, even if it is small. */
  readonly delayMs: number;
}

type Environment = Readonly<Record<string, string | undefined>>;

const DEFAULT_ENDPOINT = 'http://localhost:4318';
const DEFAULT_SERVICE_NAME = 'everstep';
const PROTOCOL = 'http/json';
const MAX_LIST_LENGTH = 16 * 1024;
const MAX_ENTRIES = 128;
const HEADER_NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const HEADER_VALUE = /^[\t\x20-\x7e]*$/;

/** Reads variables. Reports a problem for each invalid value, and returns the default instead. */
class EnvironmentReader {
  private readonly env: Environment;
  private readonly reportProblem: (sentence: string) => void;

  constructor(env: Environment, reportProblem: (sentence: string) => void) {
    this.env = env;
    this.reportProblem = reportProblem;
  }

  /** Returns the first of the variables that is set. An empty variable counts as unset. */
  firstSet(...names: readonly string[]): { readonly name: string; readonly text: string } | null {
    for (const name of names) {
      const text = this.env[name]?.trim() ?? '';
      if (text !== '') return { name, text };
    }
    return null;
  }

  /** Reads the first variable that is set. `parse` throws an Error with the allowed values. Problems never contain values. */
  read<Value>(names: readonly string[], fallback: Value, parse: (text: string) => Value): Value {
    const variable = this.firstSet(...names);
    if (!variable) return fallback;
    try {
      return parse(variable.text);
    } catch (error) {
      this.reportProblem(`${variable.name} ${error instanceof Error ? error.message : String(error)}`);
      return fallback;
    }
  }
}

const wholeNumber =
  (min: number, max: number) =>
  (text: string): number => {
    const value = Number(text);
    if (!/^\d{1,9}$/.test(text) || value < min || value > max) throw new Error(`must be a whole number from ${min} to ${max}`);
    return value;
  };

const oneOf =
  <Value extends string>(values: readonly Value[]) =>
  (text: string): Value => {
    const match = values.find((value) => value === text);
    if (match === undefined) throw new Error(`must be one of ${values.join(', ')}`);
    return match;
  };

function parseRatio(text: string): number {
  const ratio = Number(text);
  if (!/^[\d.]{1,20}(e-\d+)?$/.test(text) || !(ratio >= 0 && ratio <= 1)) throw new Error('must be a number from 0 to 1');
  return ratio;
}

function parseUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (!url || !/^https?:$/.test(url.protocol)) throw new Error('must be an http or https URL, such as http://collector:4318');
  if (url.username !== '' || url.password !== '')
    throw new Error('must not contain a user or password; set OTEL_EXPORTER_OTLP_HEADERS instead');
  return url.href;
}

/** Parses a list of the form `name=value,name=value`, with percent-encoded values. */
function parseList(text: string): Readonly<Record<string, string>> {
  const entries = text.length > MAX_LIST_LENGTH ? null : text.split(',').map((entry) => /^\s*([^=\s]+)\s*=(.*)$/s.exec(entry));
  if (!entries || entries.length > MAX_ENTRIES || entries.some((entry) => entry === null))
    throw new Error(`must be a list of at most ${MAX_ENTRIES} entries of the form name=value, separated by commas`);
  try {
    return Object.fromEntries(entries.map((entry) => [entry?.[1] ?? '', decodeURIComponent((entry?.[2] ?? '').trim())]));
  } catch {
    throw new Error('contains a value that is not percent-encoded correctly');
  }
}

function parseHeaders(text: string): Readonly<Record<string, string>> {
  const headers = parseList(text);
  for (const [name, value] of Object.entries(headers))
    if (!HEADER_NAME.test(name) || !HEADER_VALUE.test(value)) throw new Error('contains a header that cannot be sent');
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}

const isTrue = (text: string | undefined): boolean => text?.toLowerCase() === 'true';

function readTracesUrl(reader: EnvironmentReader): string {
  const baseUrl = reader.read(['OTEL_EXPORTER_OTLP_ENDPOINT'], DEFAULT_ENDPOINT, parseUrl);
  return reader.read(['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'], `${baseUrl.replace(/\/+$/, '')}/v1/traces`, parseUrl);
}

/**
 * Reads the settings. Returns null if the export is disabled, which is the default unless an endpoint is set. If it is disabled,
 * the other variables are not checked, because they may be set for other programs.
 */
export function readTracing(env: Environment, reportProblem: (sentence: string) => void): TracingSettings | null {
  const reader = new EnvironmentReader(env, reportProblem);
  if (isTrue(reader.firstSet('OTEL_SDK_DISABLED')?.text)) return null;
  const hasEndpoint = reader.firstSet('OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', 'OTEL_EXPORTER_OTLP_ENDPOINT') !== null;
  const exporter = reader.read(['OTEL_TRACES_EXPORTER'], hasEndpoint ? 'otlp' : 'none', oneOf(['otlp', 'none']));
  if (exporter === 'none') return null;
  reader.read(['OTEL_EXPORTER_OTLP_TRACES_PROTOCOL', 'OTEL_EXPORTER_OTLP_PROTOCOL'], PROTOCOL, oneOf([PROTOCOL]));
  const attributes = reader.read(['OTEL_RESOURCE_ATTRIBUTES'], {}, parseList);
  const serviceName = reader.firstSet('OTEL_SERVICE_NAME')?.text ?? attributes['service.name'] ?? DEFAULT_SERVICE_NAME;
  const maxQueuedSpans = reader.read(['OTEL_BSP_MAX_QUEUE_SIZE'], 2_048, wholeNumber(1, 1_000_000));
  const parseBatchSize = wholeNumber(1, 10_000);
  return {
    url: readTracesUrl(reader),
    headers: {
      ...reader.read(['OTEL_EXPORTER_OTLP_HEADERS'], {}, parseHeaders),
      ...reader.read(['OTEL_EXPORTER_OTLP_TRACES_HEADERS'], {}, parseHeaders),
    },
    timeoutMs: reader.read(['OTEL_EXPORTER_OTLP_TRACES_TIMEOUT', 'OTEL_EXPORTER_OTLP_TIMEOUT'], 10_000, wholeNumber(1, 600_000)),
    isCompressed:
      reader.read(
        ['OTEL_EXPORTER_OTLP_TRACES_COMPRESSION', 'OTEL_EXPORTER_OTLP_COMPRESSION'],
        'none',
        oneOf(['gzip', 'none']),
      ) === 'gzip',
    resource: { ...attributes, 'service.name': serviceName },
    sampler: reader.read(['OTEL_TRACES_SAMPLER'], 'parentbased_always_on', oneOf(SAMPLERS)),
    ratio: reader.read(['OTEL_TRACES_SAMPLER_ARG'], 1, parseRatio),
    maxQueuedSpans,
    maxBatchSpans: Math.min(maxQueuedSpans, reader.read(['OTEL_BSP_MAX_EXPORT_BATCH_SIZE'], 512, parseBatchSize)),
    delayMs: reader.read(['OTEL_BSP_SCHEDULE_DELAY'], 5_000, wholeNumber(1, 600_000)),
  };
}
