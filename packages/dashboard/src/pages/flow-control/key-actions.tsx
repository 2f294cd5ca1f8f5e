/** What can be done with a flow control key. */
import { useState } from 'react';
import type { FlowControlEntry } from '../../../../everstep/src/contract/service.js';
import { path } from '../../api/client.js';
import { useMay } from '../../api/instances.js';
import { useChange } from '../../api/queries.js';
import { DeedButton } from '../../components/deed-button.js';
import { PinDialog } from './pin-dialog.js';

type Verb = 'pause' | 'resume' | 'unpin' | 'resetRate';

export function KeyActions({ entry }: { readonly entry: FlowControlEntry }) {
  const { flowControlKey: key, isPaused, isPinnedParallelism, isPinnedRate, rateMax } = entry;
  const { readOnly } = useMay();
  const change = useChange();
  const [pinning, setPinning] = useState(false);
  const act = (verb: Verb, done: string, query: Readonly<Record<string, boolean>> = {}) =>
    void change({
      method: 'POST',
      url: path`/v2/flowControl/${key}/${verb}`,
      query,
      topics: ['flow-control'],
      done,
      tellFailure: true,
    });
  const button = (text: string, onClick: () => void) => (
    <DeedButton off={readOnly} onClick={onClick}>
      {text}
    </DeedButton>
  );
  return (
    <>
      {isPaused
        ? button('Resume', () => act('resume', `${key} goes on`))
        : button('Pause', () => act('pause', `${key} is paused: what is in flight ends, and nothing more starts`))}
      {rateMax === undefined ? null : button('Reset window', () => act('resetRate', `${key} has a new window`))}
      {isPinnedParallelism || isPinnedRate
        ? button('Unpin', () => act('unpin', `${key} takes the limits that runs bring along`))
        : null}
      {isPinnedParallelism && isPinnedRate
        ? button('Unpin parallelism', () => act('unpin', `The parallelism of ${key} is unpinned`, { parallelism: true }))
        : null}
      {isPinnedParallelism && isPinnedRate
        ? button('Unpin rate', () => act('unpin', `The rate of ${key} is unpinned`, { rate: true }))
        : null}
      {button(isPinnedParallelism || isPinnedRate ? 'Change limits' : 'Pin limits', () => setPinning(true))}
      {pinning ? <PinDialog entry={entry} onClose={() => setPinning(false)} /> : null}
    </>
  );
}
