/** Form that runs a query on the index as an app would, and shows the results. */
import { useState } from 'react';
import { path, request } from '../../api/client.js';
import type { Outcome } from '../../api/outcome.js';
import { Card } from '../../components/card.js';
import { SelectField, TextField } from '../../components/fields.js';
import { JsonView } from '../../components/json-view.js';
import { FailureNotice } from '../../components/states.js';
import { durationText, quantity } from '../../components/times/formats.js';

interface Result {
  readonly id: string;
  readonly score: number;
  readonly content?: unknown;
  readonly metadata?: unknown;
}
interface SearchResponse {
  readonly result: readonly Result[];
}
interface CompletedSearch {
  readonly outcome: Outcome<SearchResponse>;
  readonly durationMs: number;
}

const LIMITS = [5, 10, 50] as const;

export function TryQuery({ indexId, namespace }: { readonly indexId: string; readonly namespace: string }) {
  const [query, setQuery] = useState('');
  const [filter, setFilter] = useState('');
  const [limit, setLimit] = useState<number>(LIMITS[0]);
  const [busy, setBusy] = useState(false);
  const [completed, setCompleted] = useState<CompletedSearch | null>(null);
  const search = async () => {
    setBusy(true);
    const startedMs = performance.now();
    const url = namespace === '' ? path`/search/${indexId}/search` : path`/search/${indexId}/search/${namespace}`;
    const body = { query, topK: limit, ...(filter.trim() === '' ? {} : { filter: filter.trim() }) };
    const outcome = await request<SearchResponse>(url, { method: 'POST', body });
    setCompleted({ outcome, durationMs: performance.now() - startedMs });
    setBusy(false);
  };
  return (
    <Card title="Try a query">
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault();
          void search();
        }}
      >
        <div className="query-fields">
          <TextField label="Query" value={query} onChange={setQuery} />
          <TextField
            label="Filter"
            mono
            placeholder="genre = 'drama' AND @metadata.year >= 1990"
            value={filter}
            onChange={setFilter}
          />
          <SelectField label="Max results" value={limit} onChange={(max) => setLimit(Number(max))}>
            {LIMITS.map((max) => (
              <option key={max} value={max}>
                {max}
              </option>
            ))}
          </SelectField>
        </div>
        <div className="line">
          <button type="submit" className="button button-primary" disabled={busy}>
            {busy ? 'Searching…' : 'Search'}
          </button>
          <span role="status" className="muted">
            {completed?.outcome.ok
              ? `${quantity(completed.outcome.value.result.length, 'result')} in ${durationText(Math.round(completed.durationMs))} including network time`
              : ''}
          </span>
        </div>
      </form>
      {completed === null ? null : !completed.outcome.ok ? (
        <FailureNotice failure={completed.outcome.failure} />
      ) : (
        <ol className="results">
          {completed.outcome.value.result.map(({ id, score, content, metadata }) => (
            <li key={id}>
              <p className="result-head">
                <span className="mono">{id}</span> <span className="muted">score {Number(score.toPrecision(3))}</span>
              </p>
              <JsonView
                text={JSON.stringify(metadata === undefined ? { content } : { content, metadata })}
                label={`Document ${id}`}
              />
            </li>
          ))}
        </ol>
      )}
    </Card>
  );
}
