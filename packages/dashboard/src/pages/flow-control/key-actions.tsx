/** Actions on a flow control key. */
import { useState } from 'react';
import type { FlowControlEntry } from '../../../../everstep/src/contract/service.js';
import { path } from '../../api/client.js';
import { usePermissions } from '../../api/instances.js';
import { useChange } from '../../api/queries.js';
import { ActionButton } from '../../components/action-button.js';
import { PinDialog } from './pin-dialog.js';

type KeyOperation = 'pause' | 'resume' | 'unpin' | 'resetRate';

export function KeyActions({ entry }: { readonly entry: FlowControlEntry }) {
  const { flowControlKey: key, isPaused, isPinnedParallelism, isPinnedRate, rateMax } = entry;
  const { readOnlyReason } = usePermissions();
  const change = useChange();
  const [isPinning, setIsPinning] = useState(false);
  const areBothPinned = isPinnedParallelism && isPinnedRate;
  const unpinText = areBothPinned ? 'Unpin both' : 'Unpin';
  const changeKey = (operation: KeyOperation, successText: string, query: Readonly<Record<string, boolean>> = {}) =>
    void change({
      method: 'POST',
      url: path`/v2/flowControl/${key}/${operation}`,
      query,
      topics: ['flow-control'],
      successText,
      showFailure: true,
    });
  const button = (text: string, onClick: () => void) => (
    <ActionButton disabledReason={readOnlyReason} onClick={onClick}>
      {text}
    </ActionButton>
  );
  return (
    <>
      {isPaused
        ? button('Resume', () => changeKey('resume', `Resumed ${key}`))
        : button('Pause', () => changeKey('pause', `Paused ${key}. Deliveries in flight finish; no new ones start`))}
      {rateMax === undefined ? null : button('Reset period', () => changeKey('resetRate', `Started a new period for ${key}`))}
      {isPinnedParallelism || isPinnedRate
        ? button(unpinText, () => changeKey('unpin', `Unpinned ${key}. The limits of new runs apply again`))
        : null}
      {areBothPinned
        ? button('Unpin parallelism', () => changeKey('unpin', `Unpinned the parallelism of ${key}`, { parallelism: true }))
        : null}
      {areBothPinned ? button('Unpin rate', () => changeKey('unpin', `Unpinned the rate of ${key}`, { rate: true })) : null}
      {button(isPinnedParallelism || isPinnedRate ? 'Change limits' : 'Pin limits', () => setIsPinning(true))}
      {isPinning ? <PinDialog entry={entry} onClose={() => setIsPinning(false)} /> : null}
    </>
  );
}
