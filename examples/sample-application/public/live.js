// Puts what the server sends in the place of what it replaces. Without this script, reload the page.
const shown = new Map()
const source = new EventSource("/live")

source.addEventListener("message", ({ data }) => {
  for (const [id, html] of Object.entries(JSON.parse(data))) {
    if (shown.get(id) === html) continue
    const place = document.getElementById(`${id}-live`)
    if (place !== null && shown.has(id)) place.innerHTML = html
    shown.set(id, html)
  }
})
