/** What needs attention now, with links. The height is fixed, and items stay in place while the page is open. */
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import type { AttentionItem } from '../../../../everstep/src/contract/insights/insights.js';
import { path } from '../../api/client.js';
import { useInstanceId } from '../../api/instances.js';
import { Card } from '../../components/card.js';
import { FixedHeight } from '../../components/fixed-height.js';
import { StatusBadge } from '../../components/status-badge.js';
import { useOpenHref } from '../../components/tables/row-link.js';
import { countText, quantity } from '../../components/times/formats.js';
import { TimeText } from '../../components/times/time-text.js';
import { ATTENTION_KINDS, idOf, type ShownItem, unlistedErrorCount, updateShownItems } from './attention-items.js';

function Item({ shown: { item, isResolved } }: { readonly shown: ShownItem }) {
  const instanceId = useInstanceId();
  const { name, tone, titleOf, countOf, pageOf } = ATTENTION_KINDS[item.kind];
  const title = titleOf(item);
  const href = path`/q/${instanceId}` + pageOf(item);
  const open = useOpenHref();
  return (
    <li className="attention-item" data-resolved={isResolved ? '' : undefined}>
      {isResolved ? <StatusBadge tone="good">Resolved</StatusBadge> : <StatusBadge tone={tone}>{name}</StatusBadge>}
      <a
        href={href}
        className="clip"
        title={title}
        onClick={(event) => {
          if (event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
          event.preventDefault();
          open(href);
        }}
      >
        {title}
      </a>
      <span className="muted nowrap">{countOf(item)}</span>
      <span className="muted nowrap">
        {item.since === null ? null : <TimeText unixMs={item.since} style="relative" label="Since" />}
      </span>
    </li>
  );
}

/** Leads to the error groups that are not listed. */
function MoreErrors({ count }: { readonly count: number }) {
  const instanceId = useInstanceId();
  return (
    <li className="attention-item">
      <StatusBadge tone="bad">Error</StatusBadge>
      <Link to="/q/$instanceId/dead-letters" params={{ instanceId }} className="clip">
        {quantity(count, 'more error')}
      </Link>
      <span />
      <span />
    </li>
  );
}

/**
 * Card with the items that need attention. `errors` is the number of error groups that need attention; only some of them are
 * items.
 */
export function Attention({ items, errors }: { readonly items: readonly AttentionItem[]; readonly errors: number }) {
  const [snapshot, setSnapshot] = useState({ items, shown: updateShownItems([], items) });
  const current = snapshot.items === items ? snapshot : { items, shown: updateShownItems(snapshot.shown, items) };
  if (current !== snapshot) setSnapshot(current);
  const moreErrors = unlistedErrorCount(items, errors);
  const count = items.length + moreErrors;
  return (
    <Card title={count === 0 ? 'Needs attention' : `Needs attention (${countText(count)})`} flush>
      <FixedHeight fixed className="attention" label="What needs attention">
        {current.shown.length === 0 ? (
          <p className="attention-none muted">Nothing needs attention now.</p>
        ) : (
          <ul>
            {current.shown.map((shown) => (
              <Item key={idOf(shown.item)} shown={shown} />
            ))}
            {moreErrors === 0 ? null : <MoreErrors count={moreErrors} />}
          </ul>
        )}
      </FixedHeight>
    </Card>
  );
}
