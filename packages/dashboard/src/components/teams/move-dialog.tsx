/** Dialog that moves something to a team. */
import { type ReactNode, useState } from 'react';
import { useChange } from '../../api/queries.js';
import { ConfirmDialog } from '../dialogs.js';
import { OtherTeamField } from './team-fields.js';

export interface MoveDialogProps {
  /** What is moved, such as `instance`. */
  readonly subject: string;
  readonly name: string;
  readonly ownerId: string;
  readonly url: string;
  readonly bodyFor: (teamId: string) => object;
  readonly onClose: () => void;
  /** What changes and what does not. */
  readonly children: ReactNode;
}

export function MoveDialog({ subject, name, ownerId, url, bodyFor, onClose, children }: MoveDialogProps) {
  const [teamId, setTeamId] = useState('');
  const change = useChange();
  const move = () =>
    change({
      method: 'POST',
      url,
      body: bodyFor(teamId),
      topics: ['account'],
      isManagementCall: true,
      successText: `Moved ${name} to the team`,
    });
  return (
    <ConfirmDialog
      title={`Move ${name} to a team?`}
      open
      onClose={onClose}
      confirmText={`Move ${subject}`}
      danger
      disabled={teamId === ''}
      onConfirm={move}
    >
      <p>{children}</p>
      <OtherTeamField ownerId={ownerId} value={teamId} onChange={setTeamId} />
    </ConfirmDialog>
  );
}
