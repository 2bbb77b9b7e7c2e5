import { Can, usePermissions } from '@usher-service/react';

const PROJECT = { type: 'project', id: 1042 };
const SHOWN = ['project.access', 'invoice.access', 'invoice.approve', 'report.export'] as const;

/** What everybody sees of a project, and what only some may do with it. */
export function Project() {
  const states = usePermissions(SHOWN);
  return (
    <section aria-labelledby="project">
      <h2 id="project">Project 1042</h2>
      <p className="actions">
        <Can
          permission="project.access"
          level="edit"
          resource={PROJECT}
          fallback={<span>You can look at this project.</span>}
        >
          <button type="button">Edit the project</button>
        </Can>
        <Can permission="project.archive" resource={PROJECT}>
          <button type="button">Archive the project</button>
        </Can>
      </p>
      <table>
        <caption>Without a project</caption>
        <thead>
          <tr>
            <th scope="col">Permission</th>
            <th scope="col">Held</th>
          </tr>
        </thead>
        <tbody>
          {SHOWN.map((permission, at) => {
            const { known, level } = states[at] ?? { known: false, level: null };
            return (
              <tr key={permission}>
                <th scope="row">{permission}</th>
                <td>{known ? (level ?? 'no') : '…'}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </section>
  );
}
