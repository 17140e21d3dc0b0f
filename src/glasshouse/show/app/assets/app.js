"use strict";
// Uploads, how far a run is, what a slider shows, and a sign of life. Every page works as forms and links alone.

const here = location.pathname.split("/").slice(0, 3).join("/");
const ALIVE = 15000, ASKED = 500;

// A window that was closed says nothing more; the next page of a window says at once that it is there.
addEventListener("pagehide", () => navigator.sendBeacon(`${here}/left`, document.body.dataset.page));
addEventListener("pageshow", (event) => { if (event.persisted) location.reload(); });

async function state() {
  const answer = await fetch(`${here}/state`);
  if (!answer.ok) throw new Error(answer.statusText);
  return answer.json();
}

const working = document.querySelector("[data-working]");
if (working) follow(working); else setInterval(() => state().catch(() => {}), ALIVE);

async function follow(page) {
  const bar = page.querySelector("progress"), line = page.querySelector("#line bdi");
  for (;;) {
    await new Promise((done) => setTimeout(done, ASKED));
    let now;
    try { now = await state(); } catch { line.textContent = "The workbench does not answer; it may have been ended."; continue; }
    if (!now.working) { location.replace(`${here}/${now.go}`); return; }
    if (now.total) { bar.max = now.total; bar.value = now.done; }
    if (now.line && line.textContent !== now.line) line.textContent = now.line;
  }
}

// -- uploads: as they come, into the private folder of the window ---------------------------------------------------------

function upload(file, input, told) {
  const sent = new XMLHttpRequest();
  sent.open("PUT", `${here}/upload/${encodeURIComponent(file.name)}`);
  sent.upload.onprogress = (event) => {
    if (event.lengthComputable) told.textContent = `${file.name}: ${Math.round((100 * event.loaded) / event.total)} %`;
  };
  sent.onerror = () => { told.textContent = "The file could not be copied."; };
  sent.onload = () => {
    if (sent.status !== 200) { sent.onerror(); return; }
    const form = document.createElement("form");
    form.method = "post";
    form.action = input.dataset.upload;
    const fields = { path: JSON.parse(sent.responseText).path };
    if (input.dataset.field) fields[input.dataset.field] = input.dataset.value;
    for (const [name, value] of Object.entries(fields)) {
      const field = document.createElement("input");
      field.type = "hidden"; field.name = name; field.value = value;
      form.append(field);
    }
    document.body.append(form);
    form.submit();
  };
  told.textContent = file.name;
  sent.send(file);
}

for (const slot of document.querySelectorAll("[data-slot]")) {
  const input = slot.querySelector("input[type=file]"), drop = slot.querySelector(".drop");
  if (!input) continue;
  const told = slot.querySelector(".uploading");
  const take = () => { if (input.files.length) upload(input.files[0], input, told); };
  input.addEventListener("change", take);
  take();  // chosen before this script was there
  for (const name of ["dragover", "dragleave", "drop"]) {
    slot.addEventListener(name, (event) => { event.preventDefault(); drop.classList.toggle("over", name === "dragover"); });
  }
  slot.addEventListener("drop", (event) => { if (event.dataTransfer.files.length) upload(event.dataTransfer.files[0], input, told); });
}
for (const name of ["dragover", "drop"]) addEventListener(name, (event) => event.preventDefault());

// -- a slider, a column: the part of the page that follows, asked for anew; of several the last ------------------------------

for (const form of document.querySelectorAll("form[data-redraw]")) {
  const shown = document.querySelector(form.dataset.redraw);
  let asking = false, again = false;
  async function redraw() {
    if (asking) { again = true; return; }
    asking = true;
    const wanted = new URLSearchParams(new FormData(form));
    history.replaceState(null, "", `?${wanted}`);
    wanted.set("part", "1");
    try {
      const answer = await fetch(`${here}/${form.getAttribute("action")}?${wanted}`);
      if (answer.redirected) { location.assign(answer.url); return; }
      if (answer.ok) {
        shown.innerHTML = await answer.text();
        shown.dataset.drawn = wanted.get("at") || "";
        document.querySelector("#spoken").textContent = shown.querySelector("output")?.textContent || "";
      }
    } finally { asking = false; }
    if (again) { again = false; redraw(); }
  }
  form.addEventListener("input", (event) => {
    const output = form.querySelector(`output[data-of="${event.target.name}"]`);
    if (output) output.textContent = event.target.value;
    for (const other of document.querySelectorAll(`form[data-with] [name="${event.target.name}"]`)) other.value = event.target.value;
    if ("reload" in event.target.dataset) {
      const wanted = new URLSearchParams(new FormData(form));
      wanted.delete("at");
      location.assign(`${here}/${form.getAttribute("action")}?${wanted}`);
    } else redraw();
  });
  form.addEventListener("submit", (event) => { event.preventDefault(); redraw(); });
}
