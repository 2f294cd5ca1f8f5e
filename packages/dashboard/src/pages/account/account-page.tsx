/** Account page: the user's sessions and sign-in methods. */
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { Redirected } from '../../../../everstep/src/contract/sign-in.js';
import { useChange } from '../../api/queries.js';
import { signInMethodsQuery, useSession } from '../../api/session.js';
import { Card } from '../../components/card.js';
import { CopyId } from '../../components/copy-id.js';
import { Facts } from '../../components/facts.js';
import { PageTitle } from '../../components/page-title.js';
import { Sessions } from './sessions.js';

export default function AccountPage() {
  const { user, is_operator: isOperator } = useSession();
  const { data: methods } = useQuery(signInMethodsQuery);
  const [busy, setBusy] = useState(false);
  const change = useChange();
  const linkSso = async () => {
    setBusy(true);
    const outcome = await change<Redirected>({
      ...{ method: 'POST', url: '/v2/session/sso/link', topics: [], isManagementCall: true, showFailure: true },
    });
    setBusy(false);
    if (outcome.ok) window.location.assign(outcome.value.location);
  };
  return (
    <>
      <PageTitle title="Your account" lead="Your sessions and sign-in methods. Your API keys are on the Team page." />
      <div className="stack">
        <Card
          title={user.email}
          actions={
            methods?.sso === true ? (
              <button type="button" className="button button-small" disabled={busy} onClick={() => void linkSso()}>
                Link SSO
              </button>
            ) : undefined
          }
        >
          <Facts
            facts={[
              ['Id', <CopyId key="id" value={user.id} valueName="user id" />],
              ['Operator', isOperator ? 'Yes' : 'No'],
            ]}
          />
        </Card>
        <Sessions />
      </div>
    </>
  );
}
