/** Link to a run. A run id can be reused after the run has ended, so the link also contains the creation time. */
import { Link, useRouter } from '@tanstack/react-router';
import { type MouseEvent, type ReactNode, use } from 'react';
import { path } from '../api/client.js';
import { useInstanceId } from '../api/instances.js';
import { stringifySearch } from '../search-parameters.js';
import { InTable } from './tables/in-table.js';

const TAIL = 6;

export interface RunLinkProps {
  readonly runId: string;
  /** Creation time, Unix ms. Default: the latest run with the id. */
  readonly createdAt?: number | undefined;
  readonly children?: ReactNode;
}

export function RunLink({ runId, createdAt, children }: RunLinkProps) {
  const instanceId = useInstanceId();
  const inTable = use(InTable);
  const search: Readonly<Record<string, string>> = createdAt === undefined ? {} : { createdAt: String(createdAt) };
  const text = children ?? (
    // Generated ids start with the time, so their ends distinguish them.
    <span className="ends">
      <span className="ends-first clip">{runId.slice(0, -TAIL)}</span>
      <span className="ends-last">{runId.slice(-TAIL)}</span>
    </span>
  );
  if (inTable)
    return (
      <RowLink href={path`/q/${instanceId}/runs/${runId}` + stringifySearch(search)} title={runId}>
        {text}
      </RowLink>
    );
  return (
    <Link to="/q/$instanceId/runs/$runId" params={{ instanceId, runId }} search={search} className="mono run-link" title={runId}>
      {text}
    </Link>
  );
}

interface RowLinkProps {
  readonly href: string;
  readonly title: string;
  readonly children: ReactNode;
}

/** A link without the state that each router link tracks, because scrolling renders hundreds of rows. */
function RowLink({ href, title, children }: RowLinkProps) {
  const router = useRouter();
  const onClick = (event: MouseEvent) => {
    if (event.defaultPrevented || event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    void router.navigate({ href });
  };
  return (
    <a href={href} className="mono run-link" title={title} tabIndex={-1} onClick={onClick}>
      {children}
    </a>
  );
}
