/** Team page: the user's teams with their members, and the user's API keys. */
import { useState } from 'react';
import type { JoinedTeam, TeamEntry } from '../../../../everstep/src/contract/management.js';
import { useApi, useChange } from '../../api/queries.js';
import { ConfirmDialog } from '../../components/dialogs.js';
import { TextField } from '../../components/fields.js';
import { Loaded } from '../../components/loading/loaded.js';
import { PageTitle } from '../../components/page-title.js';
import { EmptyState } from '../../components/states.js';
import { ApiKeys } from './api-keys.js';
import { Members } from './members.js';

export default function TeamPage() {
  const [isCreating, setIsCreating] = useState(false);
  const [name, setName] = useState('');
  const [isJoining, setIsJoining] = useState(false);
  const [secret, setSecret] = useState('');
  const change = useChange();
  const teams = useApi<readonly TeamEntry[]>({ topic: 'account', name: 'teams', url: '/v2/teams' });
  return (
    <>
      <PageTitle
        title="Team"
        lead="A team shares queue instances and search indexes. The role of each member determines what the member can do."
        actions={
          <>
            <button type="button" className="button" onClick={() => setIsJoining(true)}>
              Join a team
            </button>
            <button type="button" className="button button-primary" onClick={() => setIsCreating(true)}>
              New team
            </button>
          </>
        }
      />
      <div className="stack">
        <Loaded query={teams} lines={6} subject="teams">
          {(rows) =>
            rows.length === 0 ? (
              <div className="card">
                <EmptyState title="No teams">
                  To share a queue instance, create a team, invite members, and move the instance to the team.
                </EmptyState>
              </div>
            ) : (
              rows.map((team) => <Members key={team.id} team={team} />)
            )
          }
        </Loaded>
        <ApiKeys />
      </div>
      <ConfirmDialog
        title="New team"
        open={isCreating}
        onClose={() => setIsCreating(false)}
        confirmText="Create team"
        disabled={name.trim() === ''}
        onConfirm={async () => {
          const outcome = await change({
            method: 'POST',
            url: '/v2/team',
            body: { team_name: name.trim() },
            topics: ['account'],
            isManagementCall: true,
            successText: `Created team ${name.trim()}`,
          });
          if (outcome.ok) setName('');
          return outcome;
        }}
      >
        <TextField label="Name" value={name} onChange={setName} />
      </ConfirmDialog>
      <ConfirmDialog
        title="Join a team"
        open={isJoining}
        onClose={() => setIsJoining(false)}
        confirmText="Join team"
        disabled={!secret.includes('inv_')}
        onConfirm={async () => {
          const outcome = await change<JoinedTeam>({
            method: 'POST',
            url: '/v2/invitations/join',
            body: { secret: secret.trim().replace(/^.*#/, '') },
            topics: ['account'],
            isManagementCall: true,
            successText: 'Joined the team',
          });
          if (outcome.ok) setSecret('');
          return outcome;
        }}
      >
        <TextField label="Invitation link" autoComplete="off" value={secret} onChange={setSecret} />
      </ConfirmDialog>
    </>
  );
}
